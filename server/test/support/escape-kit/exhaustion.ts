// Attempts to exhaust the machine's processes, memory, processors, disk, descriptors and output.
import { type Attempt, python } from './attempt.ts';

export const exhaustion: readonly Attempt[] = [
  { name: 'forks without end', script: 'f() { f & f & }; f; sleep 10', outcome: 'too_many_processes' },
  {
    name: 'forks into new sessions without end',
    script: python(`while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass`),
    outcome: 'too_many_processes',
  },
  {
    name: 'starts threads without end',
    script: python(`import threading, time
threading.stack_size(65536)
while True:
    try: threading.Thread(target=time.sleep, args=(60,)).start()
    except RuntimeError: pass`),
    outcome: 'too_many_processes',
  },
  { name: 'takes memory in one process', script: python("x = b'x' * (1 << 30)"), outcome: 'out_of_memory' },
  {
    name: 'takes memory in many processes',
    script: python(`for i in range(8):
    if os.fork() == 0:
        x = bytearray(os.urandom(1 << 20)) * 30
        import time; time.sleep(30)
import time; time.sleep(30)`),
    outcome: 'out_of_memory',
  },
  {
    name: 'takes memory as files of /tmp and /dev/shm',
    script: `for d in /tmp /dev/shm /dev /run; do head -c 300M /dev/zero >"$d/fill"; done
/usr/bin/python3 -c "x = b'x' * (110 << 20)"`,
    outcome: 'out_of_memory',
  },
  {
    name: 'takes memory of the kernel for pipes',
    script: python(`import fcntl
pipes = []
for i in range(300):
    try:
        r, w = os.pipe(); os.set_blocking(w, False); pipes.append((r, w))
        fcntl.fcntl(w, 1031, 1 << 20)
    except OSError: pass
    try: os.write(w, b'x' * (1 << 20))
    except OSError: pass`),
  },
  {
    name: 'opens files without end',
    script: python(`fds = []
while len(fds) < 1000000:
    try: fds.append(os.open('/dev/null', 0))
    except OSError: break`),
  },
  {
    name: 'burns the processor',
    script: 'while :; do :; done & while :; do :; done',
    outcome: 'timed_out',
    timeoutMs: 700,
  },
  {
    name: 'ignores signals',
    script: "trap '' TERM INT HUP QUIT; while :; do sleep 1; done",
    outcome: 'timed_out',
    timeoutMs: 500,
  },
  { name: 'stops itself', script: 'kill -STOP $$; sleep 60', outcome: 'timed_out', timeoutMs: 500 },
  { name: 'fills the disk with one file', script: 'head -c 200M /dev/zero >fill', outcome: 'disk_full' },
  {
    name: 'fills the disk with many files',
    script: 'i=0; while [ $i -lt 200 ]; do head -c 1M /dev/zero >"fill$i"; i=$((i+1)); done; sleep 20',
    outcome: 'disk_full',
  },
  {
    name: 'fills the disk with empty files',
    script: python("for i in range(6000): os.close(os.open(f'f{i}', os.O_CREAT))\nimport time; time.sleep(20)"),
    outcome: 'disk_full',
  },
  {
    name: 'fills the disk in a folder that nobody may enter',
    script: 'mkdir d; for i in 1 2 3 4; do head -c 30M /dev/zero >d/f$i; done; chmod 000 d; sleep 20',
    outcome: 'disk_full',
  },
  {
    name: 'fills the disk with a file that has no name any more',
    script: python(`import time
for i in range(4):
    fd = os.open('fill', os.O_CREAT | os.O_RDWR); os.unlink('fill')
    os.write(fd, b'x' * (30 << 20)); os.dup(fd)
time.sleep(20)`),
    outcome: 'disk_full',
  },
  {
    name: 'makes a file look enormous',
    script: 'truncate -s 100T sparse; truncate -s 90M sparse2; ls -la',
    outcome: 'exited',
  },
  {
    name: 'nests folders without end',
    script: python(`for i in range(2000):
    os.mkdir('d'); os.chdir('d')`),
    outcome: 'exited',
  },
  { name: 'prints without end', script: 'yes "$(head -c 5000 /dev/zero | tr "\\0" x)"', outcome: 'stopped' },
  { name: 'prints one line without end', script: 'tr "\\0" x </dev/zero', outcome: 'stopped' },
];
