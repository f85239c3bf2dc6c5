"""Failures of a driver's calls."""

from flambeau.errors import AcceleratorError


def refuse_a_launch(driver):
    """Let the next launch fail."""
    wanted = driver.launch

    def refuse(*arguments):
        driver.launch = wanted
        raise AcceleratorError("refused")

    driver.launch = refuse
