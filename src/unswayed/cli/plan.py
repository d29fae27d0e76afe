"""``unswayed certify --plan``: what passes over files would take."""

from unswayed.cli.terminal import Terminal
from unswayed.study.request import Request
from unswayed.words import counted

_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def show_plan(request: Request, terminal: Terminal) -> int:
    """Print what a request would take, and do nothing.

    Parameters
    ----------
    request : Request
        With `in_pieces`.
    terminal : Terminal

    Returns
    -------
    int
        Exit code.
    """
    from unswayed.study.plan import plan_of

    plan = plan_of(request)
    about = "about " if plan.estimated else ""
    held = " (held out)" if plan.held_out else ""
    terminal.say(
        f"{counted(plan.files, 'file')}, {size(plan.n_bytes)}, {about}{plan.rows:,} rows; "
        f"{counted(plan.columns, 'column')} make at least {counted(plan.features, 'feature')}; "
        f"{plan.test_rows:,} test rows{held}"
    )
    if plan.different is not None:
        then = (
            "probably few enough that one pass is enough to learn from them"
            if plan.merges
            else "probably too many to be held"
        )
        terminal.say(
            f"{plan.different:,} of the first {plan.first:,} rows are different: all in all {then}"
        )
    terminal.say()
    terminal.table(
        ["pass", "what it does", "about"],
        [[str(at), what, duration(took)] for at, (what, took) in enumerate(plan.passes, start=1)],
        left=(1,),
    )
    where = f"on {counted(plan.threads, 'thread')}"
    if request.in_pieces is not None and request.in_pieces.scheduler is not None:
        where = "on one thread of a worker like this machine; all threads of the cluster share it"
    terminal.say(f"together about {duration(plan.seconds)} {where}")
    terminal.say()
    terminal.table(
        ["memory of a process", "about"],
        [
            *([what, size(amount)] for what, amount in plan.memory.items()),
            ["together", size(sum(plan.memory.values()))],
        ],
    )
    terminal.answer(plan.to_dict())
    return 0


def size(amount: float) -> str:
    """Return a number of bytes as text.

    Parameters
    ----------
    amount : float

    Returns
    -------
    str

    Examples
    --------
    >>> size(12), size(3_200_000)
    ('12 bytes', '3.2 MB')
    """
    for name, unit in _UNITS:
        if amount >= unit:
            return f"{amount / unit:.3g} {name}"
    return f"{amount:,.0f} bytes"


def duration(seconds: float) -> str:
    """Return a time as text.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> duration(0.2), duration(90), duration(7300)
    ('1 second', '2 minutes', '2 hours')
    """
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * length:
            return counted(round(seconds / length), unit)
    return counted(max(1, round(seconds)), "second")
