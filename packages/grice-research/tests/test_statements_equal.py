"""Statements of a release are compared up to case and punctuation."""

from grice_research.benches.situatedgen import equal_up_to


def test_equal_up_to_case_and_marks():
    assert equal_up_to("July is Hot (2005)", "july is hot -lrb- 2005 -rrb-")
    assert not equal_up_to("July is hot", "July is not hot")
