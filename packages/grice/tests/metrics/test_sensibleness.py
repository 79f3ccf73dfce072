METRIC = "sensibleness"


def test_names_of_speakers_do_not_make_turns_of_a_reply(judged):
    plain, *named, other = (
        judged("Which address?", f"Eggs.\n{name}Exactly!").value
        for name in ("", "B: ", "Assistant: ", "  USER: ", "Total: ")
    )
    assert max(abs(value - plain) for value in named) < 1e-6 < abs(other - plain)
