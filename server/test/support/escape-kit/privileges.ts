// Attempts to gain privileges, to affect other processes or the machine, and to outlive the command.
import { type Attempt, python, syscall } from './attempt.ts';

export const privileges: readonly Attempt[] = [
  { name: 'writes outside the clone', script: 'echo escaped >"$OUTSIDE/written"', succeedsOutside: true },
  { name: 'changes a file outside the clone', script: 'echo escaped >>"$SECRET_FILE"', succeedsOutside: true },
  {
    name: 'writes through a symbolic link',
    script: 'ln -s "$OUTSIDE/linked" l; echo escaped >l',
    succeedsOutside: true,
  },
  {
    name: 'deletes outside the clone',
    script: 'rm -rf "$OUTSIDE/victim-folder" "$OUTSIDE" /opt /etc /usr/local/etc /dev/null',
  },
  {
    name: 'changes the system',
    script: 'for f in /etc/passwd /usr/bin/env /bin/sh /usr/lib/canary; do echo x >>$f; cp /bin/true $f; done',
  },
  { name: 'kills a process of the same user', script: 'kill -9 "$VICTIM"', succeedsOutside: true },
  { name: 'kills every process', script: 'kill -9 -1' },
  { name: 'traces a process of the same user', script: syscall(101, 117, "16, int(os.environ['VICTIM']), 0, 0") },
  {
    name: 'writes into the memory of a process',
    script: python("open(f\"/proc/{os.environ['VICTIM']}/mem\", 'wb').write(b'x')"),
  },
  {
    name: 'becomes root by a setuid file',
    script: 'cp /bin/sh s; chmod 6755 s; ./s -p -c "id; cat $SECRET_FILE"; su -c id; sudo -n id; mount',
  },
  { name: 'makes a user namespace', script: 'unshare -Urm sh -c "id; mount -t proc p /tmp"; unshare -U id' },
  { name: 'makes a user namespace by clone', script: syscall(56, 220, '0x10000000 | 17, 0, 0, 0, 0') },
  {
    name: 'makes a user namespace by clone3',
    script: python(
      'import ctypes\nb = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)\nprint(ctypes.CDLL(None).syscall(435, b, 88))',
    ),
  },
  {
    name: 'mounts',
    script:
      'mkdir m; mount -t tmpfs t m; mount --bind / m; mount -o remount,rw /; mount -t cgroup -o pids c m; umount /usr',
  },
  { name: 'mounts by the new calls', script: syscall(430, 430, "b'tmpfs', 0") },
  {
    name: 'has the kernel run a program when its group ends',
    script:
      'mkdir c; mount -t cgroup -o memory cgroup c && echo 1 >c/notify_on_release; echo "$PWD/x" >/sys/fs/cgroup/memory/release_agent',
  },
  {
    name: 'leaves its control group',
    script:
      'for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/pids/cgroup.procs; do echo $$ >$f; done; f() { f & f & }; f; sleep 10',
    outcome: 'too_many_processes',
  },
  {
    name: "changes the kernel's settings",
    script:
      'echo "|/repo/x" >/proc/sys/kernel/core_pattern; echo escaped >/proc/sys/kernel/hostname; echo b >/proc/sysrq-trigger; echo 1 >/proc/sys/vm/drop_caches; echo 9 >/proc/sys/kernel/panic',
  },
  { name: 'renames the machine', script: 'hostname escaped' },
  { name: 'sets the clock', script: 'date -s "2001-01-01"' },
  { name: 'loads a kernel module', script: 'modprobe dummy; insmod x.ko' },
  { name: 'puts a key into a keyring', script: syscall(248, 217, "b'user', b'canary', b'escaped', 7, -4") },
  { name: 'loads a program into the kernel', script: syscall(321, 280, "0, b'\\0' * 128, 128") },
  { name: 'measures other processes', script: syscall(298, 241, "b'\\0' * 128, -1, 0, -1, 0") },
  { name: 'uses io_uring', script: syscall(425, 425, "8, b'\\0' * 120") },
  { name: 'handles page faults of its own', script: syscall(323, 282, '0') },
  {
    name: 'types into a terminal',
    script: python(
      "import fcntl\nfor fd in (0, 1, 2):\n  for c in b'escaped\\n':\n    try: fcntl.ioctl(fd, 0x5412, bytes([c]))\n    except OSError as error: print(error)",
    ),
  },
  {
    name: 'gives itself a higher priority',
    script: 'nice -n -20 true; renice -n -20 -p $$; chrt -f 99 true; ulimit -n 1000000; ulimit -f unlimited',
  },
  { name: 'leaves a process behind', script: 'sleep 300 & echo left', succeedsOutside: true },
  {
    name: 'leaves a process behind in a new session',
    script: 'setsid sleep 300 >/dev/null 2>&1 & nohup sleep 301 >/dev/null 2>&1 & echo left',
    succeedsOutside: true,
  },
  {
    name: 'leaves a daemon behind',
    script: python(`import time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        time.sleep(300)
    os._exit(0)
os.wait()`),
    succeedsOutside: true,
  },
  {
    name: 'leaves a process behind when time is over',
    script: 'setsid sleep 300 & setsid sh -c "trap \'\' TERM; sleep 301" & sleep 302',
    outcome: 'timed_out',
    timeoutMs: 500,
  },
  {
    name: 'kills the first process inside',
    script: 'kill -9 1; kill -STOP 1; kill -9 $PPID; sleep 0.1; echo still there',
  },
  {
    name: 'preloads a library into our tools',
    script: 'export LD_PRELOAD=/repo/x.so; echo x >x.so; mkdir -p etc; echo /repo/x.so >etc/ld.so.preload',
  },
  {
    name: 'obeys no terminal',
    script:
      'printf "\\033]0;owned\\007\\033[2J\\033[31mred\\033[0m\\033P0;1|17/17\\033\\\\ \\302\\233 a\\bb \\000 \\r\\n"',
    succeedsOutside: true,
  },
  {
    name: 'prints what is no text',
    script: 'head -c 3000 /dev/urandom; printf "\\377\\376\\355\\240\\200"',
    succeedsOutside: true,
  },
  { name: 'turns text around', script: 'printf "\\342\\200\\256 esrever \\342\\201\\246"', succeedsOutside: true },
  {
    name: 'leaves names that tools misread',
    script:
      python(`for name in ('-rf', '--no-preserve-root', 'a\\nb', '$(touch x)', ';touch x', '*', ' ', '\\\\', b'\\xff\\xfe'):
    os.mkdir(name)
    open(os.path.join(name, b'-delete' if isinstance(name, bytes) else '-delete'), 'w').close()
os.symlink(os.environ['OUTSIDE'], 'outside'); os.symlink('.', 'loop'); os.mkfifo('fifo')
os.mkdir('closed'); os.mkdir('closed/in'); os.chmod('closed', 0)
import socket; socket.socket(socket.AF_UNIX).bind('socket')`),
    outcome: 'exited',
  },
];
