"""Five tables on which the verdict is compared with what is known about them, and one of noise."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.datasets import penguins, spam

Labelled = tuple[Any, Any]


def penguin_rows() -> Labelled:
    table = penguins().drop(columns="year")
    return table.drop(columns="species"), table["species"]


def spam_rows(rows: int = 600, words: int = 400) -> Labelled:
    """Mails as counts of the first words."""
    table = spam().sample(rows, random_state=0).reset_index(drop=True)
    return table.iloc[:, 1 : 1 + words], table["label"]


def credit_rows(rows: int = 1000) -> Labelled:
    """Loans, three in ten of which default; columns of money depend on each other."""
    rng = np.random.default_rng(2)
    income = rng.lognormal(8, 0.5, rows)
    amount = income * rng.lognormal(0, 0.6, rows)
    months = rng.choice([6, 12, 18, 24, 36, 48], rows)
    history = rng.choice(["none", "paid", "delayed"], rows, p=[0.2, 0.6, 0.2])
    owner = rng.random(rows) < 0.4
    age = rng.integers(19, 75, rows)
    score = (
        -1.6
        + 0.9 * np.log(amount / income)
        + 0.02 * (months - 20)
        + 1.3 * (history == "delayed")
        - 0.6 * owner
    )
    default = rng.random(rows) < 1 / (1 + np.exp(-score))
    X = pd.DataFrame(
        {
            "income": income.round(),
            "amount": amount.round(),
            "monthly_rate": (amount / months).round(2),
            "months": months,
            "history": history,
            "home_owner": owner,
            "age": age,
        }
    )
    X.loc[rng.random(rows) < 0.08, "income"] = np.nan
    return X, pd.Series(np.where(default, "yes", "no"), name="default")


def junk_rows(rows: int = 200) -> Labelled:
    """One column that helps, beside an identifier, dates, free text and a constant."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, rows)
    words = np.array(
        ["late", "early", "call", "back", "yes", "maybe", "refund", "order", "lost", "new", "poor"]
    )
    X = pd.DataFrame(
        {
            "customer_id": [f"C{100000 + 17 * i}" for i in range(rows)],
            "ordered": pd.date_range("2024-01-01", periods=rows, freq="17h").strftime(
                "%Y-%m-%d %H:%M"
            ),
            "remark": [" ".join(rng.choice(words, 6)) for _ in range(rows)],
            "country": "NL",
            "price": rng.normal(20 + 6 * y, 4).round(2),
        }
    )
    return X, pd.Series(np.where(y == 1, "returned", "kept"), name="outcome")


def twenty_classes(rows: int = 800) -> Labelled:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 20, rows)
    centres = rng.normal(scale=3, size=(20, 4))
    X = pd.DataFrame(
        centres[y] + rng.normal(size=(rows, 4)), columns=[f"measure_{j}" for j in range(4)]
    )
    X["kind"] = np.array(list("abcdefghijkl"))[(y + rng.integers(0, 3, rows)) % 12]
    return X, pd.Series([f"class {k + 1}" for k in y], name="kind_of_part")


def noise_rows(seed: int, rows: int = 60, share: float = 0.5) -> Labelled:
    """Labels that no column says anything about."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{j}": rng.normal(size=rows) for j in range(3)})
    X["level"] = rng.choice(list("abcd"), rows)
    X["flag"] = rng.random(rows) < 0.4
    return X, np.where(rng.random(rows) < share, "yes", "no")
