// The system call filter: a classic BPF program that rejects calls that builds never need and calls that sandbox
// escapes often use. Namespaces and dropped privileges already block most of these calls, but the filter also makes the
// kernel code behind them unreachable.
import { endianness } from 'node:os';

/** System call numbers by processor. If only one processor has a call, the other's list omits it. */
const numbers = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    clone3: 435,
    socket: 41,
    ioctl: 16,
    unshare: 272,
    refused: {
      ptrace: 101,
      syslog: 103,
      modify_ldt: 154,
      pivot_root: 155,
      adjtimex: 159,
      chroot: 161,
      acct: 163,
      settimeofday: 164,
      mount: 165,
      umount2: 166,
      swapon: 167,
      swapoff: 168,
      reboot: 169,
      sethostname: 170,
      setdomainname: 171,
      iopl: 172,
      ioperm: 173,
      init_module: 175,
      delete_module: 176,
      quotactl: 179,
      lookup_dcookie: 212,
      clock_settime: 227,
      kexec_load: 246,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      migrate_pages: 256,
      move_pages: 279,
      perf_event_open: 298,
      fanotify_init: 300,
      name_to_handle_at: 303,
      open_by_handle_at: 304,
      clock_adjtime: 305,
      setns: 308,
      process_vm_readv: 310,
      process_vm_writev: 311,
      kcmp: 312,
      finit_module: 313,
      kexec_file_load: 320,
      bpf: 321,
      userfaultfd: 323,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    clone3: 435,
    socket: 198,
    ioctl: 29,
    unshare: 97,
    refused: {
      lookup_dcookie: 18,
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      chroot: 51,
      quotactl: 60,
      acct: 89,
      kexec_load: 104,
      init_module: 105,
      delete_module: 106,
      clock_settime: 112,
      syslog: 116,
      ptrace: 117,
      reboot: 142,
      sethostname: 161,
      setdomainname: 162,
      settimeofday: 170,
      adjtimex: 171,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      swapon: 224,
      swapoff: 225,
      migrate_pages: 238,
      move_pages: 239,
      perf_event_open: 241,
      fanotify_init: 262,
      name_to_handle_at: 264,
      open_by_handle_at: 265,
      clock_adjtime: 266,
      setns: 268,
      process_vm_readv: 270,
      process_vm_writev: 271,
      kcmp: 272,
      finit_module: 273,
      bpf: 280,
      userfaultfd: 282,
      kexec_file_load: 294,
    },
  },
} as const;

/** Newer calls have the same number everywhere. */
const refusedByAll = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  mount_setattr: 442,
  quotactl_fd: 443,
} as const;

const eperm = 1;
const enosys = 38;
const eafnosupport = 97;
/** All CLONE_NEW… flags except CLONE_NEWTIME, whose bit is part of the signal number in `clone`. */
const newNamespaces = 0x7e020000;
/** The ioctls that insert characters into a terminal's input, as if a person had typed them. */
const terminalInjection = [0x5412, 0x541c];
/** UNIX, INET and INET6, because a server under test may listen on the sandbox's own loopback. */
const families = [1, 2, 10];
const netlink = 16;

const offsets = { number: 0, arch: 4, argument: (index: number) => 16 + 8 * index };
const codes = { load: 0x20, jumpIfEqual: 0x15, jumpIfAtLeast: 0x35, jumpIfAnyBit: 0x45, answer: 0x06 } as const;
const allow = 0x7fff0000;
const killProcess = 0x80000000;
const refuse = (errno: number) => 0x00050000 | errno;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];
const load = (offset: number): Instruction => [codes.load, 0, 0, offset];
const answer = (value: number): Instruction => [codes.answer, 0, 0, value];

/** The program in the format that bubblewrap's `--seccomp` expects. Undefined for other processors. */
export function createSyscallFilter(processor: string = process.arch): Buffer | undefined {
  if (endianness() !== 'LE' || (processor !== 'x64' && processor !== 'arm64')) return undefined;
  const known = numbers[processor];
  return encode([
    load(offsets.arch),
    // A 32-bit program would use different call numbers.
    [codes.jumpIfEqual, 1, 0, known.audit],
    answer(killProcess),
    load(offsets.number),
    // Each call's x32 variant.
    [codes.jumpIfAtLeast, 0, 1, 0x40000000],
    answer(killProcess),
    ...Object.values({ ...known.refused, ...refusedByAll }).flatMap((number) => whenCalled(number, eperm)),
    // The filter can't read memory, which is where clone3's flags are. With this error, C libraries fall back to
    // `clone`.
    ...whenCalled(known.clone3, enosys),
    ...whenArgument(known.clone, 0, [[codes.jumpIfAnyBit, 0, 1, newNamespaces], answer(refuse(eperm))]),
    ...whenArgument(known.unshare, 0, [[codes.jumpIfAnyBit, 0, 1, newNamespaces], answer(refuse(eperm))]),
    ...whenArgument(
      known.ioctl,
      1,
      terminalInjection.flatMap((request): Instruction[] => [
        [codes.jumpIfEqual, 0, 1, request],
        answer(refuse(eperm)),
      ]),
    ),
    ...whenArgument(known.socket, 0, [
      ...families.flatMap((family): Instruction[] => [[codes.jumpIfEqual, 0, 1, family], answer(allow)]),
      [codes.jumpIfEqual, 1, 0, netlink],
      answer(refuse(eafnosupport)),
      // Netlink is allowed only for listing network interfaces (NETLINK_ROUTE).
      load(offsets.argument(2)),
      [codes.jumpIfEqual, 1, 0, 0],
      answer(refuse(eafnosupport)),
    ]),
    answer(allow),
  ]);
}

/** The call's number must already be loaded. */
const whenCalled = (number: number, errno: number): Instruction[] => [
  [codes.jumpIfEqual, 0, 1, number],
  answer(refuse(errno)),
];

/** Runs `checks` on the lower half of an argument. A call that passes them all is allowed. */
const whenArgument = (number: number, index: number, checks: readonly Instruction[]): Instruction[] => [
  [codes.jumpIfEqual, 0, checks.length + 2, number],
  load(offsets.argument(index)),
  ...checks,
  answer(allow),
];

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [at, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4);
  }
  return bytes;
}
