// Tests the OpenAPI document with third-party tools: validators accept it, and the clients generated from it compile
// and work.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import { validate } from '@scalar/openapi-parser';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterAll, describe, expect, it } from 'vitest';
import { startWorld } from '../support/world.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../..', import.meta.url));
const require = createRequire(import.meta.url);

const world = await startWorld();
const document = (await world.call('GET', '/openapi.json')).body;
const folder = await mkdtemp(join(tmpdir(), 'plinth-clients-'));
afterAll(() => rm(folder, { recursive: true }));
const documentFile = join(folder, 'openapi.json');
await writeFile(documentFile, JSON.stringify(document));

interface Problem {
  readonly ruleId: string;
  readonly severity: 'error' | 'warn';
  readonly message: string;
  readonly location: readonly { readonly pointer: string }[];
}

/**
 * Returns the problems that Redocly's recommended rules find. The update notice and telemetry are off, because they
 * would use the network.
 */
async function lint(): Promise<Problem[]> {
  const env = { PATH: process.env.PATH, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const args = [
    require.resolve('@redocly/cli/bin/cli.js'),
    'lint',
    documentFile,
    '--extends=recommended',
    '--format=json',
  ];
  const options = { env, cwd: folder, maxBuffer: 16 * 1024 * 1024 };
  // If the command finds problems, it prints them and exits with an error.
  const { stdout } = await run(process.execPath, args, options).catch((error: { stdout: string }) => error);
  return JSON.parse(stdout).problems;
}

/** Intentional linter warnings, by rule and location. */
const allowedWarnings: Readonly<Record<string, string>> = {
  'operation-2xx-response #/paths/~1api~1auth~1api-keys/post/responses':
    'Creating personal API keys is retired: the operation only says so, with 410.',
  'operation-2xx-response #/paths/~1connect~1{state}/get/responses': 'It sends the browser to a service, with 302.',
  'operation-4xx-response #/paths/~1healthz/get/responses': 'A probe has no input, credentials or limit to refuse.',
  'operation-4xx-response #/paths/~1readyz/get/responses': 'As above; a process that is not ready answers 503.',
  ...Object.fromEntries(
    ['cancel', 'events', 'input-request', 'messages'].map((part) => [
      `no-ambiguous-paths #/paths/~1api~1apps~1{app_id}~1imported~1sessions~1{session_id}~1${part}`,
      'Beside launch-requests/{launch_key}: no id of a session is "launch-requests".',
    ]),
  ),
  ...Object.fromEntries(
    [
      'AppRevision',
      'ChatTurnStarted',
      'DeliveryStreamReady',
      'NoData',
      'SessionLogLine',
      'StreamedWebhookDelivery',
      'TextDelta',
    ].map((schema) => [
      `no-unused-components #/components/schemas/${schema}`,
      'Events of streams have it. The rule does not read x-events.',
    ]),
  ),
};

describe('validators', () => {
  it('find the document valid as OpenAPI 3.1', async () => {
    expect(document.openapi).toBe('3.1.0');
    expect(await validate(structuredClone(document))).toMatchObject({ valid: true, errors: [] });
    const broken = structuredClone(document);
    broken.paths['/api/apps/{undeclared}'] = { get: broken.paths['/api/apps'].get };
    expect((await validate(broken)).valid).toBe(false);
  });

  it("find no fault by Redocly's recommended rules, and only warnings that are meant", async () => {
    const problems = await lint();
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    const found = problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`);
    expect(found.sort()).toEqual(Object.keys(allowedWarnings).sort());
  });
});

/** Uses both generated packages as a caller would. Prints each call's result. */
const program = `
import { client } from './client/client.gen.ts';
import {
  countRecords, createApp, createRecord, createToken, getApp, getCredits, getMe, listApps, listRecords, putEntitySchema,
  revokeToken, serverInfo,
} from './client/sdk.gen.ts';
import type { components, operations } from './types.ts';

const [baseUrl, auth] = process.argv.slice(2);
client.setConfig({ baseUrl, auth });
const throwOnError = true;

const body: operations['createApp']['requestBody'] extends { content: infer Content } | undefined
  ? Content extends { 'application/json': infer Body } ? Body : never
  : never = { name: 'Generated' };
const info = await serverInfo({ throwOnError });
const me = await getMe({ throwOnError });
const created = await createApp({ body, headers: { 'Idempotency-Key': 'generated-1' }, throwOnError });
const app: components['schemas']['App'] = created.data;
const path = { app_id: app.id, entity_name: 'Task' };
const schema = await putEntitySchema({
  path, body: { name: 'Task', properties: { title: { type: 'string' } } }, throwOnError,
});
const task: components['schemas']['CreateRecordBody'] = { title: 'Bake' };
const record = await createRecord({ path, body: task, throwOnError });
const records = await listRecords({ path, query: { limit: 10 }, throwOnError });
const counted = await countRecords({ path, throwOnError });
const apps = await listApps({ throwOnError });
const credits = await getCredits({ throwOnError });
const token = await createToken({ body: { name: 'generated', permission: 'read_only' }, throwOnError });
await revokeToken({ path: { token_id: token.data.id }, throwOnError });
const missing = await getApp({ path: { app_id: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11' } });

console.log(JSON.stringify({
  version: info.data.api_version,
  email: me.data.user.email,
  name: app.name,
  schema: schema.data.created,
  record: record.data.title,
  records: records.data.items.map(({ id }) => id === record.data.id),
  count: counted.data.count,
  apps: apps.data.items.map((each) => each.name),
  credits: credits.data.used,
  missing: missing.error && 'code' in missing.error ? missing.error.code : undefined,
}));
`;

/** The project's own options, plus the browser types, because the client uses fetch. */
const compilerSettings = {
  extends: join(repository, 'tsconfig.json'),
  compilerOptions: { lib: ['es2025', 'dom', 'dom.iterable'], typeRoots: [join(repository, 'node_modules/@types')] },
  include: ['**/*.ts'],
};

describe('a generated client', () => {
  it('compiles, and its calls work against a running server', async () => {
    const ada = await world.person('ada@example.com');
    const token = await world.token(ada, await world.workspace(ada));
    await createClient({
      input: documentFile,
      output: { path: join(folder, 'client'), module: { extension: '.ts' } },
      logs: { level: 'silent' },
    });
    await writeFile(join(folder, 'types.ts'), astToString(await openapiTS(structuredClone(document))));
    await writeFile(join(folder, 'program.ts'), program);
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(compilerSettings));
    expect(await compile()).toBe('');
    const { stdout } = await run(process.execPath, [join(folder, 'program.ts'), world.url, token]);
    expect(JSON.parse(stdout)).toEqual({
      version: document.info.version,
      email: ada.email,
      name: 'Generated',
      schema: true,
      record: 'Bake',
      records: [true],
      count: 1,
      apps: ['Generated'],
      credits: 0,
      missing: 'app_not_found',
    });
  });
});

const compile = (): Promise<string> =>
  run(process.execPath, [join(repository, 'node_modules/typescript-7/bin/tsc'), '-p', folder]).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
