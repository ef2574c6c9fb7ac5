"""Base guarantees from text: every form parses, every bad line gets one sentence."""

import numpy as np
import pytest

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.base_text import FORMS, parse_base
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.host.errors import InputError

LEVELS = np.array([0.0, 0.2, 0.7, 1.5, 3.0])
ORDERS = np.array([1.5, 2.0, 8.0])
POINTS = curves.points([0.5, 1.0], [1e-3, 1e-6])

GOOD = {
    "gaussian:noise_multiplier=4": curves.gaussian(4.0),
    " gaussian : noise_multiplier = 4e0 ": curves.gaussian(4.0),
    "laplace:noise_scale=2": curves.laplace(2.0),
    "discrete_gaussian:sigma=3,sensitivity=2": curves.discrete_gaussian(3.0, 2),
    "gdp:mu=0.25": curves.gaussian(4.0),
    "zcdp:rho=0.1": curves.zcdp(0.1),
    "pure:epsilon=1": curves.pure(1.0),
    "randomised_response:epsilon=0.5": curves.randomised_response(0.5),
    "approximate:epsilon=1,delta=1e-6": curves.approximate(1.0, 1e-6),
    "approximate:delta=1e-6,epsilon=1": curves.approximate(1.0, 1e-6),
    "points:0.5=1e-3,1=1e-6": POINTS,
    "points:0.5 = 1e-3 , 1 = 1e-6": POINTS,
    "points:1=0": curves.points([1.0], [0.0]),
    "dp_sgd:sampling_probability=0.1,noise_multiplier=3,steps=7": dp_sgd(
        sampling_probability=0.1, noise_multiplier=3.0, steps=7
    ),
    "dp_sgd:dataset_size=40,batch_size=4,noise_multiplier=3,epochs=0.7": dp_sgd(
        dataset_size=40, batch_size=4, noise_multiplier=3.0, epochs=0.7
    ),
    # the words of Opacus and of TensorFlow Privacy
    "dp_sgd:sample_rate=0.1,sigma=3,epochs=0.7": dp_sgd(
        sampling_probability=0.1, noise_multiplier=3.0, steps=7
    ),
    "dp_sgd:n=40,batch_size=4,noise_multiplier=3,num_steps=7": dp_sgd(
        sampling_probability=0.1, noise_multiplier=3.0, steps=7
    ),
}


@pytest.mark.parametrize("text", GOOD)
def test_parses_to_the_guarantee(text):
    base, want = parse_base(text), GOOD[text]
    np.testing.assert_allclose(base.renyi(ORDERS), want.renyi(ORDERS))
    if want.profile is not None:
        np.testing.assert_allclose(base.profile(LEVELS), want.profile(LEVELS))
        np.testing.assert_allclose(base.tradeoff(LEVELS / 3), want.tradeoff(LEVELS / 3))
    for one, other in zip(base.pairs(), want.pairs(), strict=True):
        np.testing.assert_array_equal(one.loss, other.loss)
    again = parse_base(base.name)  # a name is text of the same base
    np.testing.assert_allclose(again.renyi(ORDERS), base.renyi(ORDERS))


def test_every_listed_form_is_tried():
    families = {text.strip().partition(":")[0].strip() for text in GOOD}
    families.add("opacus")  # it reads a file: test_opacus.py
    assert families == {form.partition(":")[0] for form in FORMS}
    for form, meaning in FORMS.items():
        assert len(meaning) > 5
        if "=..." in form:
            with pytest.raises(InputError):  # dots are no numbers
                parse_base(form)


@pytest.mark.parametrize(
    "content",
    [
        "0.5 1e-3\n1 1e-6\n",
        "0.5,1e-3\n1,1e-6",
        "epsilon,delta\n0.5, 1e-3\n1, 1e-6\n",
        "# from an accountant\n\n0.5\t1e-3  # first\n1\t1e-6\n",
        "delta,epsilon\n1e-3,0.5\n1e-6,1\n\n\n",
        "\ufeffDelta , Epsilon\r\n1e-3,0.5\r\n1e-6,1\r\n",
        '"epsilon","delta"\n0.5,1e-3\n1,1e-6\n',
        "# delta epsilon\n1e-3 0.5\n1e-6 1\n",  # as numpy.savetxt writes a header
    ],
    ids=["spaces", "commas", "header", "comments", "swapped", "mark", "quotes", "savetxt"],
)
def test_points_from_a_file(tmp_path, content):
    path = tmp_path / "points.csv"
    path.write_text(content, encoding="utf-8", newline="")
    base = parse_base(f"points:{path}")
    np.testing.assert_allclose(base.profile(LEVELS), POINTS.profile(LEVELS))
    assert base.name == POINTS.name
    assert base.failure == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("0.5 1e-3\n1\n", "line 2"),
        ("0.5 1e-3 7\n", "line 1"),
        ("0.5 1e-3\nx y\n", "line 2"),
        ("", "no (epsilon, delta)"),
        ("epsilon delta\n", "no (epsilon, delta)"),
        ("1 1e-3\n0.5 1e-6\n", "increase"),
        ("0.5 1e-6\n1 1e-3\n", "decreasing"),
        ("0.5 2\n", "[0, 1]"),
        ("0.5 nan\n", "[0, 1]"),
        ("nan 0.5\n", "increase"),
        ("-1 0.5\n", ">= 0"),
        ("0.5 1e-3\n0.5 1e-6\n", "increase"),
        ("eps,delta\n0.5,1e-3\n", "must be named epsilon and delta"),
        ("delta,delta\n0.5,1e-3\n", "must be named epsilon and delta"),
        ("epsilon,delta,relation\n0.5,1e-3,1\n", "must be named epsilon and delta"),
        ("epsilon\n0.5\n", "must be named epsilon and delta"),
        ("epsilon,delta\ndelta,epsilon\n0.5,1e-3\n", "line 2"),
        ("0.5,1e-3\nepsilon,delta\n", "line 2"),
        ("0.5,,1e-3\n", "line 1"),
        ("0.5;1e-3\n", "must be named epsilon and delta"),
    ],
)
def test_bad_files(tmp_path, content, hint):
    path = tmp_path / "points.txt"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        parse_base(f"points:{path}")
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_whose_columns_are_swapped_proves_what_it_says(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text("delta,epsilon\n0.01,0.0001\n")
    assert parse_base(f"points:{path}").name == "points:0.0001=0.01"


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ('{"history": [[1.1, 0.01, 100]], "history": [[9.0, 0.01, 1]]}', "stands twice"),
        ('{"history": [[NaN, 0.01, 100]]}', "no number of JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_json_is_read_strictly(tmp_path, content, hint):
    path = tmp_path / "history.json"
    path.write_text(content)
    with pytest.raises(InputError, match=hint):
        parse_base(f"opacus:{path}")
    path.write_text('\ufeff{"history": [[1.1, 0.01, 100]]}')
    assert parse_base(f"opacus:{path}").relation == "add_or_remove_one"


def test_unreadable_files(tmp_path):
    for path in (tmp_path / "missing.txt", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            parse_base(f"points:{path}")
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(128, 256)))
    with pytest.raises(InputError, match="not a text file"):
        parse_base(f"points:{binary}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "gaussian",
        "gaussian:",
        "gaussian:4",
        "gaussian:noise_multiplier",
        "gaussian:noise_multiplier=",
        "gaussian:noise_multiplier=four",
        "gaussian:noise_multiplier=0",
        "gaussian:noise_multiplier=-1",
        "gaussian:noise_multiplier=nan",
        "gaussian:noise_multiplier=inf",
        "gaussian:noise_multiplier=4,noise_multiplier=4",
        "gaussian:noise_multiplier=4,delta=1e-6",
        "gaussian:scale=4",
        "approximate:epsilon=1",
        "approximate:epsilon=1,delta=1",
        "points:",
        "points:0.5=1e-3,1",
        "points:0.5=1e-3,x=1e-6",
        "points:=1e-3",
        "points:1=1e-3,0.5=1e-6",
        "points:0.5=1e-6,1=1e-3",
        "dp_sgd:noise_multiplier=1",
        "dp_sgd:sampling_probability=0.1,noise_multiplier=3,steps=7.5",
        "dp_sgd:sampling_probability=0.1,noise_multiplier=3,steps=7,epochs=1",
        "dp_sgd:sampling_probability=2,noise_multiplier=3,steps=7",
        "unknown:epsilon=1",
        "dp_sgd:q=0.1,sampling_rate=0.1,sigma=3,steps=7",
        "dp_sgd:q=0.1,batch_size=3,sigma=3,steps=7",
    ],
)
def test_bad_text_is_one_sentence(text):
    with pytest.raises(InputError) as caught:
        parse_base(text)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) > 20
