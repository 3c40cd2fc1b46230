// Certificates for loopback servers: a temporary authority, and the certificates that it issues. Needs `openssl`.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface Authority {
  /** The certificate that clients must trust. */
  readonly ca: string;
  /** Issues a certificate for these names and addresses, such as `DNS:a.test` or `IP:127.0.0.1`. */
  issue(...subjects: string[]): Promise<Certificate>;
  close(): Promise<void>;
}

const run = promisify(execFile);

export async function makeAuthority(): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'authority-'));
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  const newKey = (name: string) => ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', name];
  await openssl('req', '-x509', ...newKey('ca.key'), '-out', 'ca.pem', '-subj', '/CN=Sandbox authority', '-days', '2');
  let issued = 0;
  return {
    ca: await readFile(join(folder, 'ca.pem'), 'utf8'),
    async issue(...subjects) {
      issued += 1;
      const name = `issued-${issued}`;
      await writeFile(join(folder, `${name}.ext`), `subjectAltName=${subjects.join(',')}\n`);
      await openssl('req', ...newKey(`${name}.key`), '-out', `${name}.csr`, '-subj', '/CN=Sandbox');
      const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`];
      await openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signing);
      return {
        key: await readFile(join(folder, `${name}.key`), 'utf8'),
        cert: await readFile(join(folder, `${name}.pem`), 'utf8'),
      };
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
