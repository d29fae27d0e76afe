(** * What the theorems rest on

    Coq prints the axioms that the proofs of these theorems use. There are none: it prints
    "Closed under the global context", and [compile.sh] fails if it prints anything else. *)

From Unswayed Require Import Selection Certificate Votes.

Definition theorems :=
  ( selection, selection_mask, selection_tight,
    check_sound, check_not_vacuous, check_plain, check_radius, check_sums,
    votes_stay, votes_check, votes_sorted ).

Print Assumptions theorems.
