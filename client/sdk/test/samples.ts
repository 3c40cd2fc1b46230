// Programs that use the client. They are compiled, not run: client/sdk/test/types.test.ts.
import { verifyAuditChain } from '../src/audit.ts';
import { isPlinthError, Plinth } from '../src/index.ts';
import { Sequence, verifyWebhook } from '../src/webhooks.ts';

declare const id: string;
declare const workflow_id: string;
declare const request: Request;
declare const secret: string;
declare const known: Set<string>;
declare const stored: { upTo: number; beyond: number[] };
declare const noted: { sequence: number; hash: string };
declare const rows: Record<string, unknown>[];
declare const files: { path: string; content: string }[];
declare const campaign: Omit<Parameters<Plinth['launchCampaign']>[0], 'app_id'>;
declare function show(value: unknown): void;

const plinth = new Plinth({ url: 'https://plinth.example', token: 'plp_00' });

export async function whoAmI() {
  const { user, workspaces } = await plinth.getMe();
  show([user, workspaces]);
}

export async function everyApp() {
  for await (const app of plinth.listApps({ sort: '-updated_date' })) show([app.name, app.published?.url]);
}

export async function buildByChat() {
  for await (const { event, data } of plinth.app(id).sendChatMessage({ content: 'Add a due date' }).stream())
    if (event === 'message.delta') show(data.text);
}

export async function oneRefusalMatters() {
  try {
    await plinth.updateApp({ app_id: id, slug: 'shop' });
  } catch (error) {
    if (isPlinthError(error, 'slug_taken')) show('choose another one');
    else throw error;
  }
}

export async function everyCodeOfAnOperation() {
  const published = await plinth.publishApp({ app_id: id }).result();
  if (published.ok) return published.data.url;
  switch (published.error.code) {
    case 'nothing_to_publish':
      return 'Push files first.';
    case 'storage_quota_exceeded':
      return `Full: ${published.error.details.used_bytes} bytes.`;
    default:
      throw published.error;
  }
}

export async function figureThatMayNotHaveBeenRead() {
  const { data, notes } = await plinth.getUserStats({ app_id: id }).answer();
  show(notes.partial.includes('active_users') ? 'not known' : data.active_users);
}

export async function anyNumberOfRecords() {
  await plinth.app(id).entity('Task').createMany(rows, { key: 'import-17' });
}

export async function pushFiles() {
  const pushed = await plinth.syncAppFiles({ app_id: id, files, expected_revision: 7 }).result();
  if (!pushed.ok && pushed.error.code === 'revision_conflict') show(`is at ${pushed.error.details.revision}`);
}

export async function receiveOnce() {
  const received = new Sequence(stored);
  const { id, event, sequence } = await verifyWebhook(request, { secret });
  if (known.has(id)) return;
  show(event.type);
  if (sequence) received.add(sequence);
  show(received.missing);
}

export async function proveTheLog() {
  const verdict = await verifyAuditChain(await plinth.exportAuditLog({ from_sequence: noted.sequence }), {
    after: noted,
  });
  show(verdict.whole);
}

export async function outcomeMayNotBeKnown() {
  try {
    await plinth.launchCampaign({ app_id: id, ...campaign }, { idempotencyKey: 'spring-sale' });
  } catch (error) {
    if (isPlinthError(error) && error.outcomeUnknown) show(error.details.launch_id);
    else throw error;
  }
}

export async function followARun() {
  const { run_id } = await plinth.runWorkflow({ app_id: id, workflow_id });
  for await (const { event, data } of plinth.getRun({ app_id: id, workflow_id, run_id }).stream())
    show(event === 'run.step' ? [data.name, data.status] : data.status);
}
