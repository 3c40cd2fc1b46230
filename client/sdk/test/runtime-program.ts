// Uses what the client needs of a runtime: requests, streams, lines, keys and hashes. Run by runtimes.test.ts in Node and
// in a browser.
import { verifyAuditChain } from '../src/audit.ts';
import { Plinth, type PlinthOptions } from '../src/index.ts';
import { verifyWebhook } from '../src/webhooks.ts';

/** A delivery that is signed with this secret. */
const secret = 'whsec_YSBzZWNyZXQgb2Ygc29tZSBsZW5ndGg=';
const delivery = {
  body: '{"id":"1","type":"entity.created"}',
  headers: {
    'webhook-id': 'd1',
    'webhook-timestamp': '1794648600',
    'webhook-signature': 'v1,dUQblSzcwhinWdNCojWp0fs7wf8Ad9irWECHe6SF7dk=',
  },
};

export async function useClient(options: PlinthOptions, app_id: string): Promise<Record<string, unknown>> {
  const plinth = new Plinth(options);
  const { user } = await plinth.getMe();
  const names: string[] = [];
  for await (const { name } of plinth.listApps({ limit: 1 })) names.push(name);
  const idempotencyKey = `runtime-${Date.now()}-${Math.random()}`;
  const create = () => plinth.createApp({ name: 'Made once' }, { idempotencyKey }).answer();
  const [first, again] = [await create(), await create()];
  const refused = await plinth.publishApp({ app_id: first.data.id }).result();
  const app = plinth.app(app_id);
  const { id: webhook_id } = await app.createAppWebhook({ mode: 'pull', events: ['entity.created'] });
  const events: string[] = [];
  for await (const { event } of app.streamAppDeliveries({ webhook_id }).stream()) {
    events.push(event);
    break;
  }
  const { whole } = await verifyAuditChain(await plinth.exportAuditLog());
  const now = new Date(1000 * Number(delivery.headers['webhook-timestamp']));
  const { id, event } = await verifyWebhook(delivery, { secret, now });
  return {
    email: user.email,
    hasPages: names.length > 1,
    isSame: first.data.id === again.data.id,
    isReplayed: again.notes.replayed,
    code: refused.ok ? 'none' : refused.error.code,
    events,
    whole,
    delivery: [id, event.type],
  };
}
