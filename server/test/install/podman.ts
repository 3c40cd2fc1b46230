// Runs containers with podman, with storage of its own.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const programs = ['podman', 'buildah', 'mmdebstrap', 'runc', 'fuse-overlayfs'];

export interface Podman {
  (...args: string[]): Promise<string>;
  /** What programs that call podman need in their environment. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Says why containers can't run here. Undefined if they can. */
export function whyNoContainers(): string | undefined {
  const missing = programs.filter((program) => spawnSync('which', [program]).status !== 0);
  if (missing.length > 0) return `${missing.join(', ')} are not installed`;
  if (process.getuid?.() !== 0) return 'only root can run them';
  return existsSync('/dev/fuse') ? undefined : '/dev/fuse is not there';
}

/** The settings are for machines without systemd, such as those that run tests. */
export function openPodman(): Podman {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-podman-'));
  const [containers, storage] = [join(folder, 'containers.conf'), join(folder, 'storage.conf')];
  writeFileSync(
    containers,
    `[containers]
default_ulimits = ["nofile=8192:8192", "nproc=8192:8192"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
[network]
network_backend = "netavark"
`,
  );
  writeFileSync(
    storage,
    `[storage]
driver = "overlay"
runroot = "${folder}/run"
graphroot = "${folder}/graph"
[storage.options.overlay]
mount_program = "/usr/bin/fuse-overlayfs"
`,
  );
  const environment = { CONTAINERS_CONF: containers, CONTAINERS_STORAGE_CONF: storage };
  const env = { ...process.env, ...environment };
  const podman = async (...args: string[]) => (await run('podman', args, { env, maxBuffer: 2 ** 26 })).stdout.trim();
  return Object.assign(podman, {
    environment,
    async close() {
      await podman('rm', '--all', '--force', '--time=5');
      await podman('umount', '--all');
      rmSync(folder, { recursive: true });
    },
  });
}
