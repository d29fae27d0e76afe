(** * Votes: how many labels it takes to change a majority

    Several models vote for one of two classes, and the majority wins. Every training
    label reaches one model only. Model i keeps its vote unless at least c_i of its
    labels change; c_i is its need. For the winner to lose, some number of its votes
    must fall, and these fallen votes cost at least the smallest needs of that number of
    models. With fewer label changes the winner stays ([votes_sorted]). A threshold shows
    the same without sorting ([votes_check]). *)

From Coq Require Import List Bool Arith Lia Permutation Sorted.
From Unswayed Require Import Selection Certificate.
Import ListNotations.
Open Scope nat_scope.

(** ** Definitions *)

(** One model: its vote before and after the label changes, and its need. *)
Record ballot := Ballot { before : bool; after : bool; need : nat }.

Definition votes_for (class : bool) (votes : list bool) : nat := count_occ bool_dec votes class.

(** The class with more votes; [tie] is the class that wins a draw. *)
Definition winner (tie : bool) (votes : list bool) : bool :=
  if votes_for true votes =? votes_for false votes then tie
  else votes_for false votes <? votes_for true votes.

(** How many votes for the winner must go to the other class until the winner loses. *)
Definition must_fall (tie : bool) (ballots : list ballot) : nat :=
  let votes := map before ballots in
  let class := winner tie votes in
  let lead := votes_for class votes - votes_for (negb class) votes in
  if eqb class tie then lead / 2 + 1 else (lead + 1) / 2.

(** The needs of the models that vote for a class. *)
Definition needs (class : bool) (ballots : list ballot) : list nat :=
  map need (filter (fun b => eqb (before b) class) ballots).

Definition winner_needs (tie : bool) (ballots : list ballot) : list nat :=
  needs (winner tie (map before ballots)) ballots.

(** [reached] has one entry per changed label: the number of the model that it reaches. *)
Definition faithful (ballots : list ballot) (reached : list nat) : Prop :=
  forall i b, nth_error ballots i = Some b -> before b <> after b ->
    need b <= count_occ Nat.eq_dec reached i.

Definition same_winner (tie : bool) (ballots : list ballot) : Prop :=
  winner tie (map after ballots) = winner tie (map before ballots).

(** ** Lemmas *)

Definition fallen (class : bool) (ballots : list ballot) : list nat :=
  map need (filter (fun b => negb (eqb (after b) class))
                   (filter (fun b => eqb (before b) class) ballots)).

Lemma fallen_sublist class ballots : sublist (fallen class ballots) (needs class ballots).
Proof.
  unfold fallen, needs. induction (filter _ ballots) as [| b bs IH]; cbn; [constructor |].
  destruct (negb _); constructor; exact IH.
Qed.

Lemma later_length ps : count_occ Nat.eq_dec ps 0 + length (later ps) = length ps.
Proof. induction ps as [| [| p] ps IH]; cbn in *; lia. Qed.

(** Models share no label, so the needs of the fallen votes add up. *)
Lemma fallen_cost class ballots : forall reached,
  faithful ballots reached -> list_sum (fallen class ballots) <= length reached.
Proof.
  induction ballots as [| b ballots IH]; intros reached H; [cbn; lia |].
  assert (list_sum (fallen class ballots) <= length (later reached)) as Hrest.
  { apply IH. intros i b' Hb'. rewrite later_count. apply (H (S i) b' Hb'). }
  pose proof (later_length reached). specialize (H 0 b eq_refl).
  unfold fallen, list_sum in *. destruct b as [[] [] n], class; cbn in *; try lia.
  all: enough (n <= count_occ Nat.eq_dec reached 0) by lia; apply H; discriminate.
Qed.

Lemma votes_total votes : votes_for true votes + votes_for false votes = length votes.
Proof. unfold votes_for. induction votes as [| [] votes IH]; cbn in *; lia. Qed.

Lemma votes_kept class ballots :
  votes_for class (map before ballots)
  <= votes_for class (map after ballots) + length (fallen class ballots).
Proof.
  unfold votes_for, fallen.
  induction ballots as [| [[] [] n] ballots IH]; destruct class; cbn in *; lia.
Qed.

Lemma loser_fell tie ballots :
  ~ same_winner tie ballots ->
  must_fall tie ballots <= length (fallen (winner tie (map before ballots)) ballots).
Proof.
  unfold same_winner, must_fall. intros Hlost.
  pose proof (votes_kept (winner tie (map before ballots)) ballots) as Hkept.
  pose proof (votes_total (map before ballots)) as Hbefore.
  pose proof (votes_total (map after ballots)) as Hafter.
  rewrite map_length in Hbefore, Hafter. revert Hlost Hkept. unfold winner.
  repeat match goal with
  | |- context [?x =? ?y] => destruct (Nat.eqb_spec x y)
  | |- context [?x <? ?y] => destruct (Nat.ltb_spec x y)
  end; destruct tie; cbn [negb eqb]; intros Hlost Hkept;
    first
      [ contradict Hlost; reflexivity
      | apply Nat.lt_succ_r, Nat.div_lt_upper_bound; lia
      | rewrite Nat.add_1_r; apply Nat.le_succ_l, Nat.div_lt_upper_bound; lia ].
Qed.

(** ** Theorems *)

(** If every set of votes that is large enough costs more than the labels that change,
    the winner stays. *)
Theorem votes_stay tie ballots reached :
  faithful ballots reached ->
  (forall l, sublist l (winner_needs tie ballots) ->
     must_fall tie ballots <= length l -> length reached < list_sum l) ->
  same_winner tie ballots.
Proof.
  intros H Hcost.
  destruct (bool_dec (winner tie (map after ballots)) (winner tie (map before ballots)))
    as [E | E]; [exact E | exfalso].
  specialize (Hcost _ (fallen_sublist _ _) (loser_fell _ _ E)).
  pose proof (fallen_cost (winner tie (map before ballots)) ballots reached H). lia.
Qed.

(** One number t bounds the cost from below: f entries sum to at least f * t minus the
    sum of max (t - c, 0). On natural numbers, [t - c] is that maximum. *)
Definition check_votes (f changed t : nat) (cs : list nat) : bool :=
  changed + list_sum (map (fun c => t - c) cs) <? f * t.

Theorem votes_check tie ballots reached t :
  faithful ballots reached ->
  check_votes (must_fall tie ballots) (length reached) t
    (winner_needs tie ballots) = true ->
  same_winner tie ballots.
Proof.
  unfold check_votes. rewrite Nat.ltb_lt. intros H Ht. apply (votes_stay _ _ _ H). intros l Hl Hf.
  enough (length l * t <= list_sum l + list_sum (map (fun c => t - c) (winner_needs tie ballots)))
    by nia.
  clear - Hl. unfold list_sum. induction Hl; cbn in *; lia.
Qed.

(** Some threshold is as good as sorting. *)
Lemma threshold_exists s : StronglySorted le s -> forall f,
  exists t, list_sum (firstn f s) + list_sum (map (fun c => t - c) s) <= f * t.
Proof.
  assert (forall t v, Forall (le t) v -> list_sum (map (fun c => t - c) v) = 0) as Hzero
    by (unfold list_sum; induction 1; cbn in *; lia).
  induction 1 as [| x s _ IH Hx]; intros [| f].
  1, 2: exists 0; cbn; lia.
  - exists 0. rewrite Hzero; [cbn; lia | apply Forall_forall; lia].
  - destruct (IH f) as [t Ht]. unfold list_sum in *. destruct (le_lt_dec x t).
    + exists t. cbn. lia.
    + exists x. specialize (Hzero x s Hx). cbn. nia.
Qed.

(** The same by sorting: [s] has the needs of the winner's models, smallest first. *)
Theorem votes_sorted tie ballots reached s :
  faithful ballots reached ->
  Permutation s (winner_needs tie ballots) -> StronglySorted le s ->
  length reached < list_sum (firstn (must_fall tie ballots) s) ->
  same_winner tie ballots.
Proof.
  intros H Hperm Hsorted Hlt.
  destruct (threshold_exists s Hsorted (must_fall tie ballots)) as [t Ht].
  apply (votes_check tie ballots reached t H). unfold check_votes. apply Nat.ltb_lt.
  rewrite <- Hperm. lia.
Qed.
