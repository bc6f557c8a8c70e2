"""The one error the course's tooling shows to its user: sentences, never a traceback."""


class CourseError(Exception):
    """What an author or a learner can mend. Each problem is one line: `file:line: sentence`."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)
