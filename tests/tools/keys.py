#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""keys.py COMMAND...: drives a program of whole frames on a terminal of 100 x 30, by standard input: lines in turns, what is to
be seen, and what is typed then (with Python's escapes). The last one is typed; the program must then end with 0."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

COLS, ROWS, WAIT_S = 100, 30, 60


class Screen:
	"""As much of a terminal as the frames use: lines that are erased and written anew."""

	def __init__(self):
		self.rows = [''] * ROWS
		self.row = 0
		self.left = ''

	def feed(self, data):
		text = self.left + data
		self.left = ''
		for part in re.split(r'(\x1b\[[?0-9;]*[a-zA-Z])', text):
			if move := re.fullmatch(r'\x1b\[(\d+);1H', part):
				self.row = int(move[1]) - 1
			elif part == '\x1b[K':
				self.rows[self.row] = ''
			elif part == '\x1b[2J':
				self.rows = [''] * ROWS
			elif '\x1b' in part and not part.endswith(('m', 'h', 'l', 'H')):
				at = part.index('\x1b')  # the rest of it is to come
				self.rows[self.row] += part[:at]
				self.left = part[at:]
			elif not part.startswith('\x1b'):
				self.rows[self.row] += part

	def text(self):
		return '\n'.join(self.rows)


def main():
	steps = [line.strip('\t\n') for line in sys.stdin]
	pid, fd = pty.fork()
	if not pid:
		os.execvp(sys.argv[1], sys.argv[1:])
	fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', ROWS, COLS, 0, 0))
	screen, until, step = Screen(), time.monotonic() + WAIT_S, 0
	data = b''
	while step < len(steps) and time.monotonic() < until:
		if step % 2:
			os.write(fd, steps[step].encode().decode('unicode_escape').encode('latin-1'))
			step += 1
		elif steps[step] in screen.text():
			step += 1
		elif select.select([fd], [], [], 1)[0]:
			try:
				data += os.read(fd, 65536)
			except OSError:
				break
			whole = data.decode(errors='ignore')
			screen.feed(whole)
			data = data[len(whole.encode()):]
	if step < len(steps):
		print(f'never seen: {steps[step]}\n{screen.text()}')
		os.kill(pid, 9)
	while step == len(steps):
		try:
			if not os.read(fd, 65536):
				break
		except OSError:
			break
	status = os.waitpid(pid, 0)[1]
	if status:
		print(f'status {status}')
	sys.exit(status != 0)


main()
