"""The suite runs alike everywhere: the same examples of Hypothesis, and Ctrl-C that interrupts."""

import signal

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

# A shell that starts the suite in the background has it ignore SIGINT, and so would all processes
# that tests start: those that are to be interrupted would go on for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
