"""Experiments are read from files and checked before they run."""

from __future__ import annotations

import pytest

import hi2
from hi2.evaluation.plan import Plan, parse_toml
from lab_plan import POINTS


@pytest.mark.parametrize(
    "name", ["main", "tradeoff", "ablation", "robustness", "codecs", "ivf-gap", "stress", "hybrid"]
)
def test_the_built_in_experiments_can_be_read(name):
    plan = Plan.load(name)
    assert plan.title
    assert plan.kind in ("points", "quality", "curves", "stress")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "'name'.*one of ablation, codecs"),
        ('title = "x"\nkind = "points"\nsystems = ["nothing"]\nmeasures = []\n', "'systems'.*Got 'nothing'"),
        ("title = \n", "cannot be read"),
        ('titel = "x"\n', "cannot be read"),
    ],
)
def test_an_invalid_plan_is_refused(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(hi2.InvalidParameter, match=message):
        Plan.load("nonsense" if text == "nonsense" else str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('title="x"\nkind="pionts"\nsystems=["Flat"]\nmeasures=["R@10"]', "kind"),
        ('title="x"\nkind="points"\nsystems=["Flat"]\nmeasures=["R@10"]\naxis="ms"', "axis"),
        ('title="x"\nkind="points"\nsystems=["Flat"]\nmeasures=["Q@10"]', "Q@10"),
        ('title="x"\nkind="points"\nsystems=["Falt"]\nmeasures=["R@10"]', "Falt"),
        ('title="x"\nkind="quality"\nsystems=["Flat"]\nmeasures=["R@10"]', "'choose'.*nDCG@10"),
        ('title="x"\nkind="quality"\nsystems=["Flat"]\nmeasures=["nDCG@10"]\nchoose="best"', "best"),
        ('title="x"\nkind="quality"\nsystems=["Flat"]\nmeasures=["nDCG@10"]\n[settings]\nFalt=[{a=1}]', "Falt"),
        ('title="x"\nkind="quality"\nsystems=["Flat"]\nmeasures=["nDCG@10"]\n[settings]\nFlat={a=1}', "settings"),
        ('title="x"\nkind="quality"\nsystems=["Flat"]\nmeasures=["nDCG@10"]\n[settings]\nFlat=[]', "settings"),
        ('title="x"\nkind="quality"\nsystems=["Flat"]\nmeasures=["nDCG@10"]\nsettings=3', "settings"),
    ],
)
def test_a_users_experiment_is_checked_before_it_runs(text, message, tmp_path):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(hi2.InvalidParameter, match=message):
        Plan.load(str(tmp_path / "mine.toml"))


def test_the_reference_system_is_measured_too():
    assert POINTS.for_systems(["hi2 Flat"], "BM25").systems == ["hi2 Flat", "BM25"]


def test_other_systems_and_another_reference_may_be_chosen():
    plan = Plan("mine", "Mine", "points", ["hi2", "BM25"], ["R@10"], against="hi2")
    assert plan.for_systems(None) == plan
    assert plan.for_systems(["Flat"], "BM25").against == "BM25"
    for given in ((["nothing"], None), (None, "nothing")):
        with pytest.raises(hi2.InvalidParameter, match=r"--(system|against).*'nothing'"):
            plan.for_systems(*given)


def test_a_plan_in_a_file_is_named_after_it(tmp_path):
    (tmp_path / "own.toml").write_text('title="x"\nkind="curves"\nsystems=["Flat"]\nmeasures=["R@10"]\naxis="scored"')
    plan = Plan.load(str(tmp_path / "own.toml"))
    assert (plan.name, plan.kind, plan.axis, plan.goal) == ("own", "curves", "scored", 0.99)
    assert parse_toml("a = [1, 2]") == {"a": [1, 2]}


def test_settings_of_a_system_are_all_combinations_of_each_table(tmp_path):
    text = 'title="x"\nkind="quality"\nsystems=["hi2", "Flat"]\nmeasures=["nDCG@10"]\n[settings]\n'
    (tmp_path / "own.toml").write_text(text + "hi2=[{clusters=[4, 8], per_doc=[5, 7], refine=2}, {clusters=0}]")
    plan = Plan.load(str(tmp_path / "own.toml"))
    assert plan.settings_of("hi2") == [
        *({"clusters": c, "per_doc": p, "refine": 2} for c in (4, 8) for p in (5, 7)),
        {"clusters": 0},
    ]
    assert plan.settings_of("Flat") is None
