"""Opens sockets and hands them over to a program, as a service manager does: hand-over.py PLACES NAMES ROUNDS PROGRAM...

Starts the program again when it has ended well, ROUNDS times, half a second later, and ends with its exit code.
"""

import fcntl
import os
import socket
import sys
import time

places, names, rounds, *program = sys.argv[1:]
held = []
for place in places.split(','):
    host, port = place.rsplit(':', 1)
    opened = socket.create_server((host, int(port)))
    # Out of the way of 3 and what follows it.
    held.append(fcntl.fcntl(opened.fileno(), fcntl.F_DUPFD, 100))

status = 0
for number in range(int(rounds)):
    if number > 0:
        time.sleep(0.5)
    child = os.fork()
    if child == 0:
        for at, descriptor in enumerate(held):
            os.dup2(descriptor, 3 + at)
        handed = {'LISTEN_FDS': str(len(held)), 'LISTEN_PID': str(os.getpid()), 'LISTEN_FDNAMES': names}
        os.execvpe(program[0], program, {**os.environ, **handed})
    print(f'started {child}', flush=True)
    _, ended = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(ended)
    print(f'ended {status}', flush=True)
    if status != 0:
        break
sys.exit(status)
