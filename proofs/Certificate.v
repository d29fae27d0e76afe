(** * Certificate: a claim about one prediction, and a program that checks it

    A score is linear in the training labels: if label i moves by d_i, the score moves
    by z_i * d_i, summed over i. Each label may move within an interval around 0 and
    belongs to one part; each part has a budget, the number of its labels that may move.
    A cap may limit how many move in all.

    The claim: whatever labels move within these limits, the score rises by less than a
    margin (or by no more than it). The claim carries what was searched for: one
    threshold per part, and one more if there is a cap. The program [check] adds up a
    few numbers. The theorem [check_sound]: if [check] says [true], the claim is true.
    Wrong thresholds can only make [check] say [false]. *)

From Coq Require Import QArith Qminmax List Bool Lia Lqa.
From Unswayed Require Import Selection.
Import ListNotations.
Open Scope Q_scope.

(** ** The question *)

Record label := Label { influence : Q; lower : Q; upper : Q; part : nat }.

(** Part number p may change as many labels as entry p of [budgets] says, and none if
    there is no such entry. *)
Record question := Question { labels : list label; budgets : list nat; cap : option nat }.

(** A label change is a list of rationals [delta], one entry per label. *)
Definition changed (d : Q) : bool := negb (Qeq_bool d 0).

Definition changes (delta : list Q) : nat := length (filter changed delta).

(** The parts of the labels that change, one entry per changed label. *)
Fixpoint touched (ls : list label) (delta : list Q) : list nat :=
  match ls, delta with
  | l :: ls, d :: delta => if changed d then part l :: touched ls delta else touched ls delta
  | _, _ => []
  end.

Definition changes_in (p : nat) (ls : list label) (delta : list Q) : nat :=
  count_occ Nat.eq_dec (touched ls delta) p.

Definition within (l : label) (d : Q) : Prop := lower l <= d <= upper l.

Definition admissible (q : question) (delta : list Q) : Prop :=
  Forall2 within (labels q) delta
  /\ (forall p, changes_in p (labels q) delta <= nth p (budgets q) 0)%nat
  /\ match cap q with Some k => (changes delta <= k)%nat | None => True end.

(** ** The claim *)

(** How far a label change moves the score. *)
Fixpoint movement (ls : list label) (delta : list Q) : Q :=
  match ls, delta with
  | l :: ls, d :: delta => influence l * d + movement ls delta
  | _, _ => 0
  end.

(** What the producer of the certificate found: a threshold for each part, and one that
    all parts share if there is a cap. *)
Record hints := Hints { thresholds : list Q; shared : Q }.

(** [touching]: a score that moves by exactly the margin already changes the prediction. *)
Record claim := Claim { asked : question; margin : Q; touching : bool; found : hints }.

Definition stays (touching : bool) (x m : Q) : Prop := if touching then x < m else x <= m.

Definition holds (c : claim) : Prop :=
  forall delta, admissible (asked c) delta ->
    stays (touching c) (movement (labels (asked c)) delta) (margin c).

(** ** The program *)

(** The sum, reduced at every step: otherwise denominators grow with the list. *)
Definition total (v : list Q) : Q := fold_right (fun x rest => Qred (x + rest)) 0 v.

(** The most that a label can add to the score by itself. *)
Definition rise (l : label) : Q := Qmax (influence l * lower l) (influence l * upper l).

Definition shared_by (q : question) (h : hints) : Q :=
  match cap q with Some _ => shared h | None => 0 end.

Definition threshold (q : question) (h : hints) (p : nat) : Q :=
  nth p (thresholds h) 0 + shared_by q h.

Definition price (budgets : list nat) (thresholds : list Q) : list Q :=
  map (fun '(k, t) => times k t) (combine budgets thresholds).

(** No admissible change moves the score by more than this. *)
Definition reach (q : question) (h : hints) : Q :=
  total (price (budgets q) (thresholds h))
  + match cap q with Some k => times k (shared h) | None => 0 end
  + total (map (fun l => excess (threshold q h (part l)) (rise l)) (labels q)).

Definition nonnegative (t : Q) : bool := Qle_bool 0 t.

Definition around_0 (l : label) : bool := Qle_bool (lower l) 0 && Qle_bool 0 (upper l).

Definition below (touching : bool) (x m : Q) : bool :=
  if touching then negb (Qle_bool m x) else Qle_bool x m.

Definition check (c : claim) : bool :=
  forallb around_0 (labels (asked c))
  && forallb nonnegative (thresholds (found c))
  && nonnegative (shared (found c))
  && below (touching c) (reach (asked c) (found c)) (margin c).

(** ** Lemmas *)

Lemma total_sum v : total v == sum v.
Proof.
  induction v as [| x v IH]; cbn [total fold_right sum]; [reflexivity |].
  rewrite Qred_correct. fold (total v). rewrite IH. reflexivity.
Qed.

Lemma below_stays b x y m : x <= y -> below b y m = true -> stays b x m.
Proof.
  unfold below, stays. intros Hx. destruct b.
  - rewrite negb_true_iff, <- not_true_iff_false, Qle_bool_iff. lra.
  - rewrite Qle_bool_iff. lra.
Qed.

Lemma effect_le_rise l d : within l d -> influence l * d <= rise l.
Proof.
  intros [Hlow Hup]. unfold rise.
  pose proof (Q.le_max_l (influence l * lower l) (influence l * upper l)).
  pose proof (Q.le_max_r (influence l * lower l) (influence l * upper l)).
  destruct (Qlt_le_dec (influence l) 0); nra.
Qed.

(** A label that changes costs its part's threshold; what it does beyond that, and
    nothing else, is its excess. *)
Lemma movement_le (f : nat -> Q) ls delta :
  Forall2 within ls delta ->
  movement ls delta
  <= sum (map f (touched ls delta)) + sum (map (fun l => excess (f (part l)) (rise l)) ls).
Proof.
  induction 1 as [| l d ls delta Hd _ IH]; cbn; [lra |].
  pose proof (effect_le_rise l d Hd).
  pose proof (excess_ge (f (part l)) (rise l)).
  pose proof (excess_ge_0 (f (part l)) (rise l)).
  destruct (changed d) eqn:E; cbn; [lra |].
  unfold changed in E. rewrite negb_false_iff, Qeq_bool_iff in E. rewrite E. lra.
Qed.

Lemma changes_touched ls delta :
  Forall2 within ls delta -> length (touched ls delta) = changes delta.
Proof.
  unfold changes. induction 1 as [| l d ls delta _ _ IH]; cbn; [reflexivity |].
  destruct (changed d); cbn; congruence.
Qed.

Lemma sum_shared f s ps :
  sum (map (fun p : nat => f p + s) ps) == sum (map f ps) + times (length ps) s.
Proof. induction ps as [| p ps IH]; cbn; rewrite ?times_0, ?times_S, ?IH; lra. Qed.

(** Part numbers other than 0, each lowered by one. *)
Fixpoint later (ps : list nat) : list nat :=
  match ps with
  | [] => []
  | O :: ps => later ps
  | S p :: ps => p :: later ps
  end.

Lemma later_count ps p : count_occ Nat.eq_dec (later ps) p = count_occ Nat.eq_dec ps (S p).
Proof.
  induction ps as [| [| p'] ps IH]; cbn [later count_occ]; [reflexivity | exact IH |].
  destruct (Nat.eq_dec p' p), (Nat.eq_dec (S p') (S p)); congruence.
Qed.

Lemma later_sum t ts ps :
  sum (map (fun p => nth p (t :: ts) 0) ps)
  == times (count_occ Nat.eq_dec ps 0%nat) t + sum (map (fun p => nth p ts 0) (later ps)).
Proof.
  induction ps as [| [| p] ps IH]; cbn in *; rewrite ?times_0, ?times_S, ?IH; lra.
Qed.

(** What changed labels cost is at most what the budgets cost. *)
Lemma cost_le_price ts : forall ks ps,
  Forall (fun t => 0 <= t) ts ->
  (forall p, count_occ Nat.eq_dec ps p <= nth p ks 0)%nat ->
  sum (map (fun p => nth p ts 0) ps) <= sum (price ks ts).
Proof.
  induction ts as [| t ts IH]; intros ks ps Hts Hks.
  - assert (sum (map (fun p => nth p [] 0) ps) == 0) as ->
      by (clear; induction ps as [| [] ps IH]; cbn in *; lra).
    destruct ks; cbn; lra.
  - inversion Hts as [| ? ? Ht Hts']; subst. rewrite later_sum. destruct ks as [| k ks].
    + assert (ps = []) as ->.
      { apply (count_occ_inv_nil Nat.eq_dec). intros p. specialize (Hks p).
        destruct p; cbn in Hks; lia. }
      cbn. rewrite times_0. lra.
    + assert (forall p, count_occ Nat.eq_dec (later ps) p <= nth p ks 0)%nat as Hlater
        by (intros p; rewrite later_count; apply (Hks (S p))).
      pose proof (IH ks (later ps) Hts' Hlater).
      pose proof (times_mono _ _ t Ht (Hks 0%nat)).
      unfold price in *. cbn [combine map sum nth] in *. lra.
Qed.

Lemma movement_le_reach q h delta :
  Forall (fun t => 0 <= t) (thresholds h) -> 0 <= shared h ->
  admissible q delta -> movement (labels q) delta <= reach q h.
Proof.
  intros Hts Hs (Hin & Hparts & Hcap). unfold reach. rewrite !total_sum.
  pose proof (movement_le (threshold q h) _ _ Hin) as Hmove.
  unfold threshold at 1 in Hmove. rewrite sum_shared, (changes_touched _ _ Hin) in Hmove.
  pose proof (cost_le_price _ _ _ Hts Hparts).
  enough (times (changes delta) (shared_by q h)
          <= match cap q with Some k => times k (shared h) | None => 0 end) by lra.
  unfold shared_by. destruct (cap q).
  - apply times_mono; assumption.
  - unfold times. lra.
Qed.

(** ** Theorems *)

(** What [check] accepts is true. *)
Theorem check_sound c : check c = true -> holds c.
Proof.
  unfold check. rewrite !andb_true_iff. intros [[[_ Hts] Hs] Hbelow] delta Hdelta.
  refine (below_stays _ _ _ _ (movement_le_reach _ (found c) _ _ _ Hdelta) Hbelow).
  - rewrite forallb_forall in Hts. apply Forall_forall. intros t Ht.
    apply Qle_bool_iff, Hts, Ht.
  - apply Qle_bool_iff, Hs.
Qed.

(** ... and is about something: to change no label is admissible. *)
Theorem check_not_vacuous c :
  check c = true -> admissible (asked c) (map (fun _ => 0) (labels (asked c))).
Proof.
  unfold check. rewrite !andb_true_iff. intros [[[H _] _] _]. unfold admissible, changes_in.
  assert (forall ls, touched ls (map (fun _ => 0) ls) = []) as -> by (induction ls; auto).
  assert (forall ls : list label, changes (map (fun _ => 0) ls) = 0%nat) as ->
    by (induction ls; auto).
  repeat split; [| cbn; lia | destruct (cap _); auto with arith].
  revert H. induction (labels (asked c)) as [| l ls IH]; cbn; [constructor |].
  unfold around_0 at 1. rewrite !andb_true_iff, !Qle_bool_iff. intros [H Hls].
  constructor; [exact H | exact (IH Hls)].
Qed.

(** One part: at most [k] labels change, of all. *)
Corollary check_plain ls k t m b :
  Forall (fun l => part l = 0%nat) ls ->
  check (Claim (Question ls [k] None) m b (Hints [t] 0)) = true ->
  forall delta, Forall2 within ls delta -> (changes delta <= k)%nat ->
    stays b (movement ls delta) m.
Proof.
  intros Hpart Hcheck delta Hin Hk. apply check_sound in Hcheck. apply Hcheck.
  repeat split; [exact Hin |]. intros p. cbn [asked labels budgets].
  rewrite <- (changes_touched _ _ Hin) in Hk. clear Hcheck.
  assert (Forall (fun p => p = 0%nat) (touched ls delta)) as H0.
  { clear Hk. induction Hin as [| l d ls delta _ _ IH]; cbn; [constructor |].
    inversion Hpart; subst. destruct (changed d); auto. }
  unfold changes_in. destruct p as [| p]; cbn [nth].
  - etransitivity; [apply count_occ_bound | exact Hk].
  - enough (count_occ Nat.eq_dec (touched ls delta) (S p) = 0%nat) as -> by lia.
    apply count_occ_not_In. intros Hp. rewrite Forall_forall in H0. now apply H0 in Hp.
Qed.

(** A fall is a rise of the negated influence. *)
Definition falls (q : question) : question :=
  Question
    (map (fun l => Label (- influence l) (lower l) (upper l) (part l)) (labels q))
    (budgets q) (cap q).

Lemma falls_admissible q delta : admissible q delta -> admissible (falls q) delta.
Proof.
  intros (Hin & Hparts & Hcap). repeat split; [| | exact Hcap]; cbn [falls labels budgets].
  - clear Hparts Hcap. induction Hin; constructor; assumption.
  - intros p. rewrite <- Hparts. apply Nat.eq_le_incl. unfold changes_in. f_equal. clear.
    revert delta. induction (labels q) as [| l ls IH]; intros [| d delta]; cbn; auto.
    rewrite IH. reflexivity.
Qed.

Lemma falls_movement q delta : movement (labels (falls q)) delta == - movement (labels q) delta.
Proof.
  cbn [falls labels]. revert delta.
  induction (labels q) as [| l ls IH]; intros [| d delta]; cbn; rewrite ?IH; ring.
Qed.

(** Two sides, as for a radius: one claim about rises, one about falls. *)
Corollary check_radius q m b up down :
  check (Claim q m b up) = true -> check (Claim (falls q) m b down) = true ->
  forall delta, admissible q delta ->
    stays b (movement (labels q) delta) m /\ stays b (- m) (movement (labels q) delta).
Proof.
  intros Hup Hdown delta Hdelta. apply check_sound in Hup, Hdown.
  specialize (Hup delta Hdelta). specialize (Hdown delta (falls_admissible _ _ Hdelta)).
  cbn [asked touching margin] in *. pose proof (falls_movement q delta).
  split; [exact Hup |]. unfold stays in *. destruct b; lra.
Qed.

(** Sums: claims about different labels hold together, and their margins add up. *)
Corollary check_sums cs deltas :
  Forall (fun c => check c = true) cs ->
  Forall2 (fun c delta => admissible (asked c) delta) cs deltas ->
  sum (map (fun '(c, delta) => movement (labels (asked c)) delta) (combine cs deltas))
  <= sum (map margin cs).
Proof.
  intros Hcs Hdeltas. induction Hdeltas as [| c delta cs deltas Hdelta _ IH]; cbn; [lra |].
  inversion Hcs as [| ? ? Hc Hcs']; subst. specialize (IH Hcs').
  apply check_sound in Hc. specialize (Hc delta Hdelta). unfold stays in Hc.
  destruct (touching c); lra.
Qed.
