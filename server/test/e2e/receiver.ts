// An endpoint outside Plinth for end-to-end tests, and the settings that a process needs to call it.
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { makeAuthority } from '../../../sandbox/src/certificates.ts';
import { startWebhookEndpoint } from '../../../sandbox/src/webhook-endpoint.ts';
import { endpointAddress } from '../support/webhook-receiver.ts';

export async function startReceiver() {
  const authority = await makeAuthority();
  const trusted = join(tmpdir(), `authority-${process.pid}.pem`);
  await writeFile(trusted, authority.ca);
  const endpoint = await startWebhookEndpoint({
    address: endpointAddress,
    certificate: await authority.issue(`IP:${endpointAddress}`),
  });
  afterAll(async () => {
    await endpoint.close();
    await authority.close();
    await rm(trusted);
  });
  return {
    endpoint,
    url: `https://${endpointAddress}:${endpoint.port}/`,
    settings: { OUTBOUND_ALLOW: '127.20.0.0/16', NODE_EXTRA_CA_CERTS: trusted },
  };
}
