"""Cases of the command line: what is printed, the JSON, the tables, the pages and certificates."""

import json

import pandas as pd

from tests.golden.record import case

CLASSES = "--label hired --ignore salary"
NUMBERS = "--label salary --ignore hired"
HELD = "--holdout 24"
WIDE = f"people.csv {CLASSES} {HELD} --groups gender,city --budget 1% --budget 5%"
ENOUGH = "--time-limit 600"  # for searches that end by themselves within a second
COMMANDS = (
    *("inspect", "certify", "witness", "coefficients", "together", "fairness", "review"),
    *("audit", "audit start", "audit draw", "audit record", "audit status"),
    *("review plan", "review apply", "verify", "compare", "tradeoff", "reproduce", "tour", "demo"),
)


@case
def help_pages(record):
    """The help of the program and of every command."""
    record.command("--help")
    record.command("--version")
    for name in COMMANDS:
        record.command(f"{name} --help")
        record.command(f"{name} --help-all")


@case
def inspect(record):
    """How columns are read, and what about them could mislead."""
    record.data("people.csv", "others.csv")
    record.command("inspect people.csv")
    record.command("inspect people.csv --label hired --test others.csv")
    record.answer("inspect people.csv --label hired --test others.csv")


@case
def inspect_what_misleads(record):
    """Files as people have them, with what could be misread."""
    for name, options in {
        "adult-encoded.csv": "",
        "applicants.csv": "--label invited",
        "bank_semicolons.csv": "--label y",
        "clinic.csv": "",
        "fraud.csv": "",
        "iris.csv": "--label species",
        "loans.csv": "--label status",
        "loans_dollars_percent.csv": "",
        "passengers.csv": "--label survived",
        "scores_duplicate_columns.csv": "",
    }.items():
        record.data(name)
        record.command(f"inspect {name} {options}")
        record.answer(f"inspect {name} {options}", to=f"{name.partition('.')[0]}.json")


@case
def certify_classes(record):
    """Two classes: groups, two budgets, tables, page and certificates."""
    record.data("people.csv")
    record.command(f"certify {WIDE} --out rows.csv --fail-under 10%")
    record.command(f"certify {WIDE} --fail-under 99%", code=1)
    record.command(f"certify people.csv {CLASSES} --out rows.json")
    record.answer(
        f"certify {WIDE} --row 43 --with-tradeoff --certificates certificate.json", page="page"
    )
    record.files("rows.csv", "rows.json")
    record.certificate("certificate.json", "--train people.csv")


@case
def certify_several_classes(record):
    """Three classes: what turns into what, changes that are allowed, folds, one row."""
    record.data("people.csv")
    asked = "people.csv --label city --holdout 24 --budget 1"
    record.command(f"certify {asked} --groups gender --out rows.csv")
    record.command(f'certify {asked} --to "Aachen: Bergen; Bergen: Aachen, Córdoba"')
    record.command("certify people.csv --label city --folds 3 --budget 2")
    record.command(f"witness {asked} --row 43")
    record.command(f"together {asked}")
    record.command("coefficients people.csv --label city --budget 1", code=2)
    record.answer(f"certify {asked}", page="page")
    record.files("rows.csv")


@case
def certify_other_rows(record):
    """Rows of another file, only one kind of label that may be wrong, and only one way."""
    record.data("people.csv", "others.csv")
    asked = f"certify people.csv {CLASSES} --test others.csv --budget 3"
    record.command(f"{asked} --only \"gender == 'female' and education < 15\"")
    record.command(f"{asked} --direction up")
    record.command(f'{asked} --direction down --only "`interview score` > 50" --out rows.parquet')
    record.keep("rows.json", pd.read_parquet(record.folder / "rows.parquet").to_dict("list"))
    record.answer(
        f"{asked} --direction up --only \"city == 'Bergen'\" --certificates certificate.json"
    )
    record.certificate("certificate.json", "--train people.csv --test others.csv")


@case
def certify_numbers(record):
    """Numbers, with and without a radius."""
    record.data("people.csv")
    asked = f"certify people.csv {NUMBERS} {HELD} --shift=-1500:2000 --budget 4 --budget 2%"
    record.command(asked)
    record.command(f"{asked} --radius 400 --groups gender --out rows.csv")
    record.files("rows.csv")
    record.answer(asked, to="no-radius.json", page="no-radius-page")
    record.answer(
        f"{asked} --radius 400 --groups gender --certificates certificate.json", page="page"
    )
    record.certificate("certificate.json", "--train people.csv")


@case
def certify_relative_and_clipped(record):
    """Numbers that are off by a share of their value and never leave a range."""
    record.data("people.csv")
    asked = f"certify people.csv {NUMBERS} {HELD} --radius 300 --budget 4"
    record.command(f"{asked} --shift 20% --clip 12000:49000")
    record.command(f"{asked} --shift 0:5%")
    record.answer(f"{asked} --shift 20% --clip 12000:49000 --certificates certificate.json")
    record.certificate("certificate.json", "--train people.csv")


@case
def certify_logarithms(record):
    """Numbers that are off by a factor."""
    record.data("people.csv")
    asked = f"certify people.csv {NUMBERS} {HELD} --log --shift=-4%:5% --budget 4"
    record.command(asked)
    record.command(f"{asked} --radius 1% --out rows.csv")
    record.files("rows.csv")
    record.answer(f"{asked} --radius 1% --certificates certificate.json", page="page")
    record.certificate("certificate.json", "--train people.csv")


@case
def certify_weights(record):
    """Rows that count more than others."""
    record.data("crowd.csv")
    asked = f"certify crowd.csv {CLASSES},minutes,site --weights weight {HELD} --budget 3"
    record.command(asked)
    record.answer(f"{asked} --certificates certificate.json")
    record.certificate("certificate.json", "--train crowd.csv")


@case
def certify_thresholds(record):
    """Scores above which the second class is predicted."""
    record.data("people.csv")
    asked = f"certify people.csv {CLASSES} {HELD} --budget 3"
    record.command(f"{asked} --threshold 0.3")
    record.command(f"{asked} --threshold balanced --out rows.csv")
    record.files("rows.csv")
    record.answer(f"{asked} --threshold 0.3", to="number.json")
    record.answer(f"{asked} --threshold balanced --certificates certificate.json")
    record.certificate("certificate.json", "--train people.csv")


@case
def certify_one_of_several(record):
    """One of several classes against the rest."""
    record.data("iris.csv")
    asked = "certify iris.csv --label species --positive setosa --budget 2"
    record.command(asked)
    record.answer(f"{asked} --certificates certificate.json")
    record.certificate("certificate.json", "--train iris.csv")


@case
def certify_folds(record):
    """Every row by a model that did not see it, and sites that are never split."""
    record.data("crowd.csv")
    asked = f"certify crowd.csv {CLASSES},minutes,weight --groups gender --budget 2 --budget 4%"
    record.command(
        f"{asked} --ignore site --folds 3 --out rows.csv --certificates certificate.json"
    )
    record.command(f"{asked} --fold-by site --folds 3")
    record.files("rows.csv")
    record.answer(f"{asked} --ignore site --folds 3", page="page")
    for fold in (1, 2, 3):
        record.certificate(f"certificate-{fold}.json", "--train crowd.csv")


@case
def certify_logistic(record):
    """Logistic regression, with rows that stay undecided."""
    record.data("people.csv")
    asked = f"certify people.csv {CLASSES} {HELD} --model logistic --C 0.05 --budget 4"
    record.command(f"{asked} --groups gender --out rows.csv")
    record.command(f"{asked} --effort 2 --threshold 0.6")
    record.files("rows.csv")
    record.answer(f"{asked} --groups gender --certificates certificate.json", page="page")
    record.certificate("certificate.json", "--train people.csv")


@case
def certify_methods(record):
    """How to prove it: auto, bounds alone, rational arithmetic."""
    record.data("people.csv")
    for options in ("--method auto", "--method sandwich", "--method box", "--resolve exact"):
        record.command(f"certify people.csv {CLASSES} {HELD} --budget 3 {options}")
    record.answer(f"certify people.csv {CLASSES} {HELD} --budget 3 --method box --groups gender")


@case
def certify_penalties(record):
    """A penalty that is chosen, on rows set aside or of another file."""
    record.data("people.csv", "validation.csv")
    asked = f"certify people.csv {CLASSES} {HELD} --budget 3"
    record.command(f"{asked} --alpha auto --validation validation.csv")
    record.command(f"{asked} --give-up 3")
    record.command(f"{asked} --alpha 0")
    record.answer(f"{asked} --give-up 3 --validation validation.csv")


@case
def certify_missing(record):
    """Missing values: refused, dropped, filled in."""
    record.data("passengers.csv")
    record.command("certify passengers.csv --label survived", code=2)
    for how in ("drop", "impute"):
        record.command(f"certify passengers.csv --label survived --missing {how} --budget 2")
    record.answer(
        "certify passengers.csv --label survived --missing impute --budget 2 "
        "--certificates certificate.json"
    )
    record.certificate("certificate.json", "--train passengers.csv")


@case
def certify_without_rows(record):
    """A page to hand on."""
    record.data("people.csv")
    record.answer(f"certify {WIDE} --no-rows", page="page")


@case
def certify_in_pieces(record):
    """Folders of CSV and of Parquet files, and one file in pieces."""
    record.data("people.csv", "others.csv")
    table = pd.read_csv(record.folder / "people.csv")
    for name in ("csv", "parquet"):
        (record.folder / name).mkdir()
        for at in range(3):
            part = table[at * 50 : at * 50 + 50]
            path = record.folder / name / f"part-{at}.{name}"
            part.to_csv(path, index=False) if name == "csv" else part.to_parquet(path, index=False)
    asked = f"{CLASSES} --test others.csv --groups gender --budget 2 --budget 4%"
    record.command(f"certify csv {asked} --out rows.csv")
    record.command(f"certify 'parquet/*.parquet' {asked} --method auto")
    record.command(f"certify people.csv {asked} --in-pieces")
    record.command(f"certify csv {NUMBERS} --test others.csv --shift 5% --radius 200")
    record.command(f"certify parquet {asked} --plan")
    record.files("rows.csv")
    record.answer(f"certify parquet {asked}", page="page")
    record.command(f"witness csv {CLASSES} --test others.csv --row 3 --budget 20")


@case
def other_formats(record):
    """Excel, Stata, Feather, tabs and decimal commas."""
    record.data("people.csv", "bank_semicolons.csv", "students_tabs.tsv", "census_no_header.data")
    table = pd.read_csv(record.folder / "people.csv")
    table.to_excel(record.folder / "people.xlsx", index=False)
    table.rename(columns={"interview score": "interview"}).to_stata(
        record.folder / "people.dta", write_index=False
    )
    table.to_feather(record.folder / "people.feather")
    for name in ("people.xlsx", "people.dta", "people.feather"):
        record.command(f"certify {name} {CLASSES} --budget 2")
    record.command("certify bank_semicolons.csv --label y --budget 2")
    record.command("inspect students_tabs.tsv")
    record.command("inspect census_no_header.data --no-header --na '?'")


@case
def witness(record):
    """Which labels overturn one prediction."""
    record.data("people.csv", "others.csv")
    asked = f"witness people.csv {CLASSES} --test others.csv"
    for row in (1, 2, 3):
        record.command(f"{asked} --row {row} --budget 30")
    record.command(f"{asked} --row 2 --budget 1 --groups salary --out changes.csv")
    record.files("changes.csv")
    record.command(
        f"witness people.csv {NUMBERS} --test others.csv --row 5 --shift 3000 --radius 500"
    )
    record.command(f"witness people.csv {CLASSES} --folds 3 --row 17")
    record.command(f"{asked} --row 4 --model logistic --C 0.05")
    record.answer(f"{asked} --row 3 --budget 30")
    record.command(f"witness people.csv {CLASSES} --row 5", code=2)


@case
def coefficients_of_numbers(record):
    """Which coefficients of a salary keep their sign."""
    record.data("people.csv")
    asked = f"coefficients people.csv {NUMBERS} --shift 0:3000 --only \"gender == 'female'\""
    record.command(f"{asked} --budget 5% --budget 20 --out table.csv")
    record.command(f"{asked} --standardised --base gender=female,city=Bergen")
    record.command(f"{asked} --alpha 0 --coefficients 'gender,edu*'")
    record.files("table.csv")
    record.answer(f"{asked} --budget 5% --certificates certificate.json")
    record.certificate("certificate.json", "--train people.csv")


@case
def coefficients_of_classes(record):
    """Which coefficients of a class keep their sign, of ridge and logistic regression."""
    record.data("people.csv")
    asked = f"coefficients people.csv {CLASSES} --budget 3"
    record.command(asked)
    record.command(f"{asked} --model logistic --C 0.05")
    record.answer(asked)
    record.answer(
        f"{asked} --model logistic --C 0.05 --certificates certificate.json", to="logistic.json"
    )
    record.certificate("certificate.json", "--train people.csv")


@case
def together_command(record):
    """How many predictions one set of labels overturns."""
    record.data("crowd.csv")
    asked = f"together crowd.csv {CLASSES},minutes,site {HELD} --budget 2 --budget 4 {ENOUGH}"
    record.command(f"{asked} --ignore weight --out labels.csv")
    record.command(f"{asked} --ignore weight --only-rows \"gender == 'female'\" --turned up")
    record.command(f"{asked.replace(' --budget 4', '')} --row-weights weight")
    record.command(f"together crowd.csv {CLASSES},minutes,site,weight --folds 3 --time-limit 0")
    record.command(
        "together crowd.csv --label salary --features gender,education --shift 2000 --radius 300 "
        f"{HELD} --budget 2 {ENOUGH}"
    )
    record.files("labels.csv")
    record.answer(f"{asked} --ignore weight", page="page")


@case
def fairness(record):
    """How far rates and gaps between groups move, and limits that hold or not."""
    record.data("people.csv")
    asked = f"fairness people.csv {CLASSES} {HELD} --groups gender --budget 2 {ENOUGH}"
    few = f"fairness people.csv {CLASSES} --holdout 14 --groups gender --budget 1 {ENOUGH}"
    several = (
        "--metric demographic_parity_difference,demographic_parity_ratio,accuracy "
        "--metric true_positive_rate"
    )
    record.command(f"{asked} --limit 0.9 --out table.csv")
    record.command(f"{asked} --limit 0.01", code=1)
    record.command(f"{few} {several} --limit demographic_parity_ratio=0.1")
    record.command(f"{asked} --only-rows \"city == 'Bergen' or education > 9\"")
    record.command(
        f"fairness people.csv {NUMBERS} {HELD} --groups gender --shift 2000 --budget 3 "
        "--metric mean_prediction_difference"
    )
    record.command(f"fairness people.csv {CLASSES} --folds 3 --groups gender --time-limit 0")
    record.files("table.csv")
    record.answer(f"{few} {several} --limit demographic_parity_ratio=0.1", page="page")


@case
def review_command(record):
    """A plan for reviewers, and what their answers change."""
    record.data("crowd.csv")
    options = f"{CLASSES},site,weight {HELD} --budget 5"
    asked = f"review plan crowd.csv {options} --labels 6"
    record.command(f"{asked} --ignore minutes --out plan.csv --per-reviewer 4")
    record.command(f"{asked} --costs minutes --cost-limit 20 --error-rate 10%")
    record.answer(f"{asked} --ignore minutes", to="plan.json", page="page")
    record.files("plan.csv")
    answers = pd.read_csv(record.folder / "plan.csv")
    answers["checked_label"] = ["yes", "no", "yes", "no", None, None]
    answers.to_csv(record.folder / "answers.csv", index=False)
    applied = f"review apply crowd.csv answers.csv {options} --ignore minutes"
    record.command(f"{applied} --out corrected.csv")
    record.files("corrected.csv")
    record.answer(applied, to="applied.json")
    record.command(f"{asked} --ignore minutes --exclude answers.csv", code=2)
    again = f"review plan corrected.csv {options} --ignore minutes --labels 6"
    record.command(f"{again} --exclude answers.csv")


@case
def audit_command(record):
    """An audit from its start to a page, with answers that are right, wrong and unknown."""
    record.data("crowd.csv")
    options = f"{CLASSES},site,weight,minutes {HELD} --alpha 1"
    record.command(f"audit start crowd.csv {options} --risk 20%")
    record.answer("audit draw audit.json --checks 12", to="drawn.json")
    record.files("to-check.csv")
    answers = pd.read_csv(record.folder / "to-check.csv")
    answers["checked_label"] = answers["label"]
    answers.loc[3, "checked_label"] = "no" if answers.loc[3, "label"] == "yes" else "yes"
    answers.loc[7, "checked_label"] = "?"
    answers.to_csv(record.folder / "to-check.csv", index=False)
    record.command("audit record audit.json to-check.csv")
    record.answer("audit status audit.json", page="page")
    record.command("verify audit.json", code=3)


@case
def compare(record):
    """Two settings of one file, and two files."""
    record.data("people.csv", "others.csv")
    table = pd.read_csv(record.folder / "people.csv")
    swapped = table.assign(hired=table["hired"].where(table.index % 17 > 0, "yes"))
    swapped.to_csv(record.folder / "after.csv", index=False)
    asked = f"compare people.csv {CLASSES} {HELD} --groups gender --budget 3"
    record.command(f"{asked} --without gender --out rows.csv")
    record.command(f"{asked} --against '--alpha 100'")
    record.command(f"compare people.csv after.csv {CLASSES} --test others.csv --budget 3")
    record.command(f"compare people.csv {NUMBERS} {HELD} --shift 2000 --radius 400 --without city")
    record.files("rows.csv")
    record.answer(f"{asked} --without gender", page="page")


@case
def tradeoff(record):
    """Accuracy against robustness over the penalty."""
    record.data("people.csv")
    asked = f"tradeoff people.csv {CLASSES} {HELD} --budget 1% --budget 5%"
    record.command(f"{asked} --out table.csv")
    record.command(f"{asked} --model logistic --Cs 0.01,0.1")
    record.command(f"tradeoff people.csv {NUMBERS} --shift 2000 --radius 400 --alphas 1,10,100")
    record.files("table.csv")
    record.answer(f"{asked} --alphas 1,100")


@case
def verify_command(record):
    """The checker: its JSON, its schema, forged claims, other data."""
    record.data("people.csv", "others.csv")
    record.command(f"certify people.csv {CLASSES} {HELD} --budget 3 --certificates c.json --quiet")
    record.command("verify c.json --train people.csv")
    record.answer("verify c.json --train people.csv")
    record.command("verify --schema")
    stated = json.loads((record.folder / "c.json").read_text(encoding="utf-8"))
    for claim in stated["claims"]:
        if claim["verdict"] == "not-robust":
            claim["verdict"] = "robust"
            claim.pop("witness")
            break
    (record.folder / "forged.json").write_text(json.dumps(stated), encoding="utf-8")
    record.command("verify forged.json --train people.csv", code=1)
    record.command("verify c.json --train others.csv", code=2)
    record.command("verify people.csv --train people.csv", code=2)


@case
def demo(record):
    """The embedded story."""
    record.command("demo --no-report")
    lines = (record.folder / "unswayed-demo.csv").read_text(encoding="utf-8").splitlines(True)
    record.keep("head.csv", "".join(lines[:20]))


@case
def tour(record):
    """The tour."""
    record.command("tour")


@case
def bad_input(record):
    """What is said about input that is refused."""
    record.data("people.csv", "others.csv", "iris.csv", "students_latin1.csv")
    for line in (
        "certify",
        "certify people.csv",
        "certify nobody.csv --label hired",
        "certify people.csv --label nobody",
        "certify people.csv --label hired --budget -1",
        "certify people.csv --label hired --budget 0.01%",
        "certify people.csv --label hired --budget many",
        'certify people.csv --label hired --only "age < 3"',
        "certify people.csv --label hired --only \"gender = 'female'\"",
        "certify people.csv --label hired --only \"gender == 'nobody'\"",
        "certify people.csv --label hired --alpha -1",
        "certify people.csv --label hired --shift 5%",
        "certify people.csv --label hired --method magic",
        "certify people.csv --label hired --groups nobody",
        "certify people.csv --label hired --folds 1",
        "certify people.csv --label hired --folds 3 --test others.csv",
        "certify people.csv --label hired --model logistic --alpha 1",
        "certify people.csv --label hired --out rows.pdf",
        "certify people.csv --label salary",
        "certify people.csv --label salary --shift 5% --log --clip 40000:",
        "certify people.csv --label salary --shift 2000 --fail-under 80%",
        "certify people.csv --label city --threshold 0.3",
        "certify people.csv --label hired --nonsense",
        "certify iris.csv --label species --positive tulip",
        "inspect students_latin1.csv",
        "witness people.csv --label hired --row 1000",
        "coefficients people.csv --label hired --coefficients nobody",
        "coefficients people.csv --label hired --base gender=nobody",
        "fairness people.csv --label hired --groups gender --metric magic",
        "fairness people.csv --label hired",
        "review apply people.csv others.csv --label hired",
        "compare people.csv --label hired",
        "verify nobody.json --train people.csv",
        "nonsense",
    ):
        record.command(line, code=2)
