// Sends every operation that can change something twice, without and with an Idempotency-Key, and compares what the
// second request left behind with what docs/api/operations.yaml declares (`repeat`). All tables are compared, so
// records, events, audit entries, deliveries, reservations and charges are. Mails and requests to providers are counted
// where they arrive.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../sandbox/src/ad-platform/server.ts';
import { startAuthorizationServer } from '../../../sandbox/src/authorization-server.ts';
import { startGitHost } from '../../../sandbox/src/git-host/server.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { startMailSandbox } from '../../../sandbox/src/smtp.ts';
import type { Route } from '../../src/core/auth/route.ts';
import { effectOf } from '../../src/kit/http/operation.ts';
import { newId } from '../../src/kit/ids.ts';
import { hostSettings } from '../support/coding.ts';
import { sandboxSettings } from '../support/connections.ts';
import { startWorld } from '../support/world.ts';
import { register } from './register.ts';
import { createRepeatCases, type PreparedRequest } from './repeat-cases.ts';

const mail = await startMailSandbox();
const model = await startModelSandbox();
const host = await startGitHost();
const services = await startAuthorizationServer();
const ads = await startAdPlatform();
let received = 0;
const receiver = createServer((_request, response) => {
  received += 1;
  response.end();
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
afterAll(() => Promise.all([mail, model, host, services, ads, receiver].map((each) => each.close())));
await host.addRepository({ full_name: 'acme/flower-shop', files: { 'README.md': '# Shop\n' }, protected: [] });
// No worker runs, so events and queued work stay in their tables.
const world = await startWorld({
  environment: {
    SMTP_URL: mail.smtpUrl,
    MODEL_URL: model.url,
    ADS_PLATFORM_URL: ads.url,
    ADS_PLATFORM_MANAGER_ID: ads.managerId,
    ADS_PLATFORM_CREDENTIALS: ads.credentials,
    ...hostSettings(host),
    ...sandboxSettings(services.url),
  },
});
const cases = await createRepeatCases(world, {
  host,
  mail,
  model,
  receiver: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
});

/** The file and the name of the test that repeats each operation that waits for a worker, a provider or a browser. */
const comparedElsewhere: Readonly<Record<string, readonly [file: string, test: string]>> = {
  acceptAsset: ['ads/creative/accept', 'repeats the answer for a repeated key, even if nothing was changed'],
  answerHeldRules: ['builder/held-rules', 'is answered once: a repeat answers 404 and changes nothing'],
  cancelExecution: ['browser-tests/execution', 'ends a run that waits at once, for nothing'],
  createCampaign: ['ads/launch/launch', 'answers with the campaign alone, and replays it'],
  deleteCampaign: ['ads/changes/changes', 'removes the campaign forever; it stays listed'],
  disconnectConnector: ['connectors/connectors', 'changes nothing if it is repeated'],
  dismissHeader: [
    'security/security',
    'of the published app are judged, and a recommendation can be dismissed until the next scan',
  ],
  fixRls: ['security/fix-rls', 'can be repeated: rules that were applied stay applied, and nothing is changed again'],
  generateAssets: ['ads/creative/creative', 'answers a repeated Idempotency-Key with the same session'],
  generateFlows: ['browser-tests/generate-flows', 'generates once for one Idempotency-Key'],
  launchCampaign: ['ads/launch/launch', 'with the same key: the campaign as it is'],
  pauseAllCampaigns: [
    'ads/changes/changes',
    'pauses every campaign that could spend, and those that wait for tracking',
  ],
  pauseCampaign: ['ads/changes/changes', 'can be repeated: the platform is read, and gets nothing'],
  resetPassword: ['accounts/accounts', 'are reset by the link in the mail, once and within an hour'],
  resumeCampaign: [
    'ads/changes/changes',
    'does not enable a campaign again that was paused since the first request with the same key',
  ],
  sendAgentMessage: [
    'agents/agents',
    'with the same key again returns the same reply, during and after the turn, and adds no message',
  ],
  sendChatMessage: [
    'builder/builder',
    'with the same Idempotency-Key follows the same turn, during it and after it, even if it failed',
  ],
  setUp: [
    'accounts/accounts',
    'creates the first user as operator and workspace owner once, even if called three times concurrently',
  ],
  signInAppUser: ['app-users/sign-in', 'begins another sign-in each time; the first stays valid'],
  startBillingSetup: ['billing/billing', 'answers a repeated Idempotency-Key with the same page'],
  startExecution: ['browser-tests/execution', 'refuses a second run, and starts one for one Idempotency-Key'],
  updateCampaign: [
    'ads/changes/update',
    'is recorded once for an Idempotency-Key, even if the platform did not answer, and leaves later values alone',
  ],
  useAppUserLink: ['app-users/sign-in', 'sends a link that signs in once, and answers the same for an unknown address'],
  verifyTracking: ['ads/tracking/tracking', 'is judged again by each request, and stores one result for what is live'],
};
/** Always answers 410. */
const retired = ['createApiKey'];

const changing = register.filter(({ method }) => method !== 'GET');
const routes = new Map(world.app.routes.map((route) => [route.name, route] as const));
const isReading = (name: string) => effectOf(routes.get(name) as Route) === 'read';

it('every operation that can change something has a case, here or elsewhere', () => {
  const known = [...Object.keys(cases), ...Object.keys(comparedElsewhere), ...retired];
  expect(known.sort()).toEqual(
    changing
      .map(({ name }) => name)
      .filter((name) => !isReading(name))
      .sort(),
  );
});

beforeEach(() => world.resetRateLimits());

it.each(Object.entries(comparedElsewhere))('%s is repeated in %s', (_name, [file, test]) => {
  const source = readFileSync(new URL(`../../src/features/${file}.test.ts`, import.meta.url), 'utf8');
  expect(source.includes(`'${test}'`), `no test is named: ${test}`).toBe(true);
});

it('the conventions give a reason for every operation that must be looked at, and for no other', () => {
  const conventions = readFileSync(new URL('../../../docs/api/conventions.md', import.meta.url), 'utf8');
  const [, section = ''] = conventions.split('\nThese operations are `look`:\n');
  const explained = (section.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(explained.sort()).toEqual(
    register
      .filter(({ repeat }) => repeat === 'look')
      .map(({ name }) => name)
      .sort(),
  );
});

// ---- comparing

/** Tables that change by themselves, that only repeat others, or that only make repeating safe. */
const leftOut = ['idempotency_keys', 'storage_changes', 'storage_usage', 'worker_slots', 'event_dispatch_state'];
const leftOutPattern = /^(locations?|location_\w+|member_\w+|\w+_of_directory|audit_chains|migrations)$/;
const { rows: tables } = await sql<{ table_name: string }>`select table_name from information_schema.tables
  where table_schema = 'public' and table_type = 'BASE TABLE' order by table_name`.execute(world.db);
const compared = tables
  .map(({ table_name }) => table_name)
  .filter((name) => !leftOut.includes(name) && !leftOutPattern.test(name));

/** A refusal is recorded each time, and changes nothing. */
const effects: Readonly<Record<string, string>> = {
  audit_pending: `where t.entry->>'outcome' is distinct from 'refused'`,
};

/** Columns that say when something was read, and do not belong to what a caller changes. */
const volatile = ['last_used_at', 'read_at', 'status_read_at', 'synced_at', 'sync_tried_at']
  .map((column) => `- '${column}'`)
  .join(' ');

/** Where a change is told, rather than kept. */
const announced = ['events', 'audit_pending', 'audit_entries', 'record_write_counts'];

type Snapshot = ReadonlyMap<string, { readonly exact: string; readonly kept: string }>;

async function takeSnapshot(): Promise<Snapshot> {
  const parts = compared.map(
    (table) => `select '${table}' as name,
      coalesce(string_agg(md5((to_jsonb(t) ${volatile})::text), '' order by (to_jsonb(t) ${volatile})::text), '') as exact,
      coalesce(string_agg(md5((to_jsonb(t) ${volatile} - 'updated_date')::text), ''
        order by (to_jsonb(t) ${volatile} - 'updated_date')::text), '') as kept
      from ${table} t ${effects[table] ?? ''}`,
  );
  const { rows } = await sql
    .raw<{ name: string; exact: string; kept: string }>(parts.join(' union all '))
    .execute(world.db);
  const outside = { mails: mail.inbox.length, requests: received, platform: ads.journal.filter(isMutation).length };
  const counted = Object.entries(outside).map(([name, count]) => ({ name, exact: `${count}`, kept: `${count}` }));
  return new Map([...rows, ...counted].map((row) => [row.name, row]));
}

const isMutation = ({ event, call }: { event: string; call?: string }) => event === 'received' && call === 'mutate';

const differences = (before: Snapshot, after: Snapshot, kind: 'exact' | 'kept' = 'exact'): string[] =>
  [...after].filter(([name, table]) => before.get(name)?.[kind] !== table[kind]).map(([name]) => name);

async function sendTwice(method: string, { path, headers, ...sent }: PreparedRequest, key?: string) {
  const options = { ...sent, headers: { ...headers, ...(key !== undefined && { 'idempotency-key': key }) } };
  const before = await takeSnapshot();
  const first = await world.call(method, path, options);
  expect(first.status, first.text).toBe(200);
  const between = await takeSnapshot();
  const second = await world.call(method, path, options);
  const after = await takeSnapshot();
  expect(second.status, second.text).toBeLessThan(500);
  return {
    first,
    second,
    effects: differences(before, between),
    again: differences(between, after),
    keptAgain: differences(between, after, 'kept').filter((name) => !announced.includes(name)),
  };
}

/** An update of a record is always published, even if no value changed (docs/api/webhooks.md). */
const alwaysPublished = ['updateRecord', 'updateRecords', 'upsertRecords'];

/**
 * `X-Explanation-Source` says whether an explanation was generated, nobody learns whether an account exists, and a
 * prompt is written each time.
 */
const saysOtherwise = ['analyzeRun', 'signUpAppUser', 'requestAppUserLink', 'buildBootstrapPrompt'];

/** A second mail is sent only once the first is a while old. */
const laterAgain = ['signUpAppUser', 'requestAppUserLink'];

describe.each(changing.filter(({ name }) => name in cases).map((entry) => [entry.name, entry] as const))(
  '%s',
  (name, { method, repeat, idempotency }) => {
    const prepare = () => (cases[name] as () => Promise<PreparedRequest>)();

    it.runIf(idempotency !== 'required')('has no more effects when it is repeated than it declares', async () => {
      const { first, second, again, keptAgain } = await sendTwice(method, await prepare());
      if (repeat === 'safe') expect(again).toEqual([]);
      // A refusal that has an effect may not be called safe.
      if (second.body?.retry_safe === true && repeat !== 'safe') expect(again).toEqual([]);
      // Otherwise it would be safe.
      if (repeat === 'look' && second.status === first.status && !laterAgain.includes(name))
        expect(again).not.toEqual([]);
      if (second.status === 200 && keptAgain.length === 0 && !alwaysPublished.includes(name)) {
        expect(again, 'a change that changes nothing is told nowhere').toEqual([]);
        if (!saysOtherwise.includes(name)) expect(second.headers['x-changed']).toBe('false');
      }
    });

    it.runIf(idempotency !== 'none')('has no second effect with an Idempotency-Key, and answers the same', async () => {
      const request = await prepare();
      const key = newId();
      const { first, second, again } = await sendTwice(method, request, key);
      expect(again).toEqual([]);
      expect(second.headers['idempotent-replayed']).toBe('true');
      const secrets = new Set(routes.get(name)?.secretFields);
      const withoutSecrets = (body: unknown) =>
        JSON.parse(JSON.stringify(body, (key, value) => (secrets.has(key) ? null : value)));
      expect([second.status, withoutSecrets(second.body)]).toEqual([first.status, withoutSecrets(first.body)]);
      for (const note of ['x-changed', 'x-truncated', 'x-ignored-fields', 'x-partial-result'])
        expect(second.headers[note]).toBe(first.headers[note]);
      if (routes.get(name)?.keepsKeys) return; // compares bodies alone
      const path = `${request.path}${request.path.includes('?') ? '&' : '?'}differs=1`;
      const headers = { ...request.headers, 'idempotency-key': key };
      const other = await world.call(method, path, { ...request, headers });
      expect([other.status, other.body.code], other.text).toEqual([409, 'idempotency_conflict']);
    });
  },
);
