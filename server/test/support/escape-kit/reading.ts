// Attempts to read files and other data outside the clone.
import { type Attempt, python } from './attempt.ts';

export const reading: readonly Attempt[] = [
  { name: 'reads a file that every user may read', script: 'cat "$SECRET_FILE"', succeedsOutside: true },
  { name: 'copies a file into the clone', script: 'cp "$SECRET_FILE" stolen', succeedsOutside: true },
  { name: 'reads through a symbolic link', script: 'ln -s "$SECRET_FILE" link; cat link', succeedsOutside: true },
  { name: 'reads through a link of a folder', script: 'ln -s / root; cat "root$SECRET_FILE"', succeedsOutside: true },
  { name: 'makes a hard link', script: 'ln "$SECRET_FILE" hard; cat hard' },
  { name: 'goes up from the clone', script: 'cat "../../../../../../../../..$SECRET_FILE"', succeedsOutside: true },
  {
    name: "reads another session's clone",
    script: 'cat "$OTHER_CLONE"/* "$OTHER_CLONE"/.git/config',
    succeedsOutside: true,
  },
  { name: 'lists the folders of other sessions', script: 'find / -xdev -name "canary*" -exec cat {} +' },
  { name: 'reads through /proc/1/root', script: 'cat "/proc/1/root$SECRET_FILE" "/proc/1/cwd$SECRET_FILE"' },
  {
    name: "reads through every process's root and working folder",
    script: 'for p in /proc/[0-9]*; do cat "$p/root$SECRET_FILE" "$p/cwd/$SECRET_FILE"; done',
    succeedsOutside: true,
  },
  {
    name: 'reads descriptors that were left open',
    script:
      'for d in /proc/self/fd/* /proc/1/fd/*; do [ "$(basename "$d")" -gt 2 ] && timeout 1 head -c 1000 "$d"; done',
  },
  { name: 'reads the environment', script: 'env; cat /proc/self/environ', succeedsOutside: true },
  { name: "reads every process's environment", script: 'cat /proc/[0-9]*/environ', succeedsOutside: true },
  { name: "reads every process's arguments", script: 'cat /proc/[0-9]*/cmdline', succeedsOutside: true },
  {
    name: 'reads password hashes and keys',
    script: 'cat /etc/shadow /etc/gshadow; cd ~root && cat .ssh/* .netrc; ls -laR / 2>/dev/null | head -c 9000',
  },
  { name: 'reads memory of the machine', script: 'head -c 4096 /dev/mem /dev/kmem /proc/kcore /dev/port' },
  { name: 'reads the disk', script: 'head -c 4096 /dev/vda /dev/sda /dev/nvme0n1; cat /proc/mounts' },
  { name: 'makes a device', script: 'mknod disk b 254 0 && head -c 4096 disk; mknod /dev/shm/disk b 254 0' },
  { name: "reads the kernel's log and addresses", script: 'dmesg; cat /proc/kallsyms | head -3; cat /proc/kmsg' },
  {
    name: 'opens a file by its handle',
    script: python(`import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for inode in (2, 12, 13):
    handle = (ctypes.c_uint32 * 6)(8, 1, inode, 0, 0, 0)
    fd = libc.open_by_handle_at(os.open('/repo' if os.path.isdir('/repo') else '.', 0), handle, 0)
    print(fd, ctypes.get_errno())
    if fd >= 0: print(os.listdir(fd))`),
  },
  {
    name: "enters the first process's namespaces",
    script: 'nsenter -t 1 -a cat "$SECRET_FILE"; nsenter -t 1 -m cat "$SECRET_FILE"',
  },
  { name: 'leaves by chroot', script: 'mkdir -p jail; chroot jail /bin/sh; chroot /proc/1/root cat "$SECRET_FILE"' },
  { name: 'looks into /sys', script: 'ls /sys /sys/fs/cgroup; cat /sys/kernel/debug/*; grep -r . /sys/class/net' },
];
