"""The embedded story, certified: what `make demo` prints."""

from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed._core.selection import kernel_name
from unswayed.bias import LabelBias
from unswayed.certified import CertifiedClassifier, CertifiedRegressor
from unswayed.curves import robustness_curve
from unswayed.datasets import make_salary_story

_NUMBERS = ["education", "experience", "interview"]


def _ridge() -> object:
    encode = make_column_transformer((OneHotEncoder(), ["gender"]), (StandardScaler(), _NUMBERS))
    return make_pipeline(encode, Ridge(alpha=1.0))


def _hiring() -> str:
    """Whom would the model hire, and would it still if some past decisions were wrong?"""
    story = make_salary_story()
    train, test, y_train, _ = train_test_split(
        story.data, story.target, test_size=0.25, random_state=0
    )
    women = (train["gender"] == "female").to_numpy()
    unjust = LabelBias.flips(budget=0.02, where=women, direction="up")
    model = CertifiedClassifier(_ridge(), bias=unjust).fit(train, y_train)
    certs = model.certify(test)
    shaken = int(certs.minimum_budget.argmin())
    witness = certs.witness(shaken)
    curve = robustness_curve(certs.minimum_budget)
    lines = [
        f"Hiring: {len(train)} past decisions, {len(test)} applicants.",
        f"Suppose up to {certs.budget} women were wrongly declined. Then",
        f"  {100 * certs.robustness_rate:.1f} % of the applicants are proven to keep their answer:",
        *(f"    {line}" for line in str(certs.by_group(test["gender"])).splitlines()),
        "  and by how many wrong decisions are allowed:",
        "    "
        + "   ".join(f"{budget}: {100 * curve(budget):.1f} %" for budget in (1, 5, 10, 20, 40)),
        f"The least certain applicant is row {shaken} ({model.predict(test)[shaken]}):",
        f"  {witness}" if witness else "  no allowed change overturns it",
    ]
    if witness:
        changed = train.iloc[witness.indices].assign(decision=y_train[witness.indices])
        lines += [f"    {line}" for line in changed.to_string().splitlines()]
        lines.append(f"    with their decisions changed to: {', '.join(witness.labels)}")
    return "\n".join(lines)


def _salaries() -> str:
    """What would the model offer, and by how much would it move if women were underpaid?"""
    story = make_salary_story()
    train, test, y_train, _ = train_test_split(
        story.data, story.salary, test_size=0.25, random_state=0
    )
    women = (train["gender"] == "female").to_numpy()
    underpaid = LabelBias.shifts((0, 2000), budget=0.1, where=women)
    model = CertifiedRegressor(_ridge(), bias=underpaid, radius=500).fit(train, y_train)
    certs = model.certify(test)
    width = (certs.high - certs.low).max()
    return "\n".join(
        [
            f"Salaries: suppose up to {certs.budget} women were underpaid by up to 2,000. Then",
            f"  {100 * certs.robustness_rate:.1f} % of the offers are proven to stay within 500:",
            *(f"    {line}" for line in str(certs.by_group(test["gender"])).splitlines()),
            f"  and no offer can move by more than {width:,.0f}.",
        ]
    )


def main() -> None:
    """Print the story."""
    if kernel_name() == "numpy":
        print("(NumPy twin: no compiled kernel; the same results, slower)\n")
    print(_hiring())
    print()
    print(_salaries())


if __name__ == "__main__":
    main()
