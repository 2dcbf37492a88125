"""``bayes report``: a report in a file."""


def test_the_command_writes_the_same_report(bayes, here):
    bayes("report", "tennis.csv", "-t", "play", "-o", "report.html")
    text = (here / "report.html").read_text("utf-8")
    assert "<h2>Model card</h2>" in text
    assert "holds aggregated figures only" in text
    assert "one model" in bayes("report", "tennis.csv", "-t", "play", "-m", "naive,tan", code=1).err
