(** * Selection: one number bounds every choice of k entries

    How far can k entries of a list sum up? Sorting would answer, but a proof need
    not sort. For any t >= 0, every chosen entry x is at most t + max (x - t, 0), so
    k entries sum to at most  k * t + the sum of max (x - t, 0) over the whole list.
    A good t makes this bound tight ([selection_tight]); a bad one makes it weak, and
    never false ([selection]). *)

From Coq Require Import QArith Qminmax List Lia Lqa.
Import ListNotations.
Open Scope Q_scope.

(** ** Definitions *)

Fixpoint sum (v : list Q) : Q :=
  match v with
  | [] => 0
  | x :: rest => x + sum rest
  end.

Definition times (k : nat) (t : Q) : Q := inject_Z (Z.of_nat k) * t.

(** What of [x] is above the threshold [t]. *)
Definition excess (t x : Q) : Q := Qmax (x - t) 0.

Definition bound (k : nat) (t : Q) (v : list Q) : Q :=
  times k t + sum (map (excess t) v).

(** A choice of positions is a list of booleans: [true] where an entry is taken. *)
Fixpoint pick (mask : list bool) (v : list Q) : list Q :=
  match mask, v with
  | true :: mask, x :: v => x :: pick mask v
  | false :: mask, _ :: v => pick mask v
  | _, _ => []
  end.

(** The same as a relation: [sublist l v] if [v] with some entries left out is [l]. *)
Inductive sublist {A : Type} : list A -> list A -> Prop :=
  | sublist_nil : sublist [] []
  | sublist_take x l v : sublist l v -> sublist (x :: l) (x :: v)
  | sublist_skip x l v : sublist l v -> sublist l (x :: v).

(** ** Lemmas *)

Lemma times_0 t : times 0 t == 0.
Proof. apply Qmult_0_l. Qed.

Lemma times_S k t : times (S k) t == t + times k t.
Proof. unfold times. rewrite Nat2Z.inj_succ, <- Z.add_1_l, inject_Z_plus. ring. Qed.

Lemma times_mono j k t : 0 <= t -> (j <= k)%nat -> times j t <= times k t.
Proof. intros. unfold times. apply Qmult_le_compat_r; [rewrite <- Zle_Qle; lia | assumption]. Qed.

Lemma excess_ge_0 t x : 0 <= excess t x.
Proof. apply Q.le_max_r. Qed.

Lemma excess_ge t x : x <= t + excess t x.
Proof. pose proof (Q.le_max_l (x - t) 0). unfold excess. lra. Qed.

Lemma sublist_bound t l v :
  sublist l v -> sum l <= times (length l) t + sum (map (excess t) v).
Proof.
  induction 1 as [| x l v _ IH | x l v _ IH]; cbn [length map sum].
  - rewrite times_0. lra.
  - rewrite times_S. pose proof (excess_ge t x). lra.
  - pose proof (excess_ge_0 t x). lra.
Qed.

Lemma pick_sublist mask : forall v, sublist (pick mask v) v.
Proof.
  assert (forall v : list Q, sublist [] v) by (induction v; constructor; assumption).
  induction mask as [| [] mask IH]; intros [| x v]; cbn; auto; constructor; auto.
Qed.

(** ** Theorems *)

(** No at most [k] entries of [v] sum to more than the bound: as sublists ... *)
Theorem selection v k t l :
  0 <= t -> sublist l v -> (length l <= k)%nat -> sum l <= bound k t v.
Proof.
  intros Ht Hl Hk. pose proof (sublist_bound t l v Hl).
  pose proof (times_mono _ _ t Ht Hk). unfold bound. lra.
Qed.

(** ... and as choices of positions. *)
Theorem selection_mask v k t mask :
  0 <= t -> (length (pick mask v) <= k)%nat -> sum (pick mask v) <= bound k t v.
Proof. intros. apply selection; auto using pick_sublist. Qed.

(** Nothing is lost: if k entries are chosen that are at least t, and all others are at
    most t, then the chosen ones sum to the bound. *)
Theorem selection_tight v t mask :
  length mask = length v ->
  Forall (fun x => t <= x) (pick mask v) ->
  Forall (fun x => x <= t) (pick (map negb mask) v) ->
  sum (pick mask v) == bound (length (pick mask v)) t v.
Proof.
  unfold bound. revert v.
  induction mask as [| [] mask IH]; intros [| x v]; cbn; intros Hn Hin Hout; try discriminate.
  - rewrite times_0. lra.
  - inversion Hin; subst. rewrite IH, times_S; auto.
    unfold excess. rewrite Q.max_l by lra. lra.
  - inversion Hout; subst. rewrite IH; auto.
    unfold excess. rewrite Q.max_r by lra. lra.
Qed.
