// Tests conversion tracking from the instruction to the verified page: the builder chat installs the tag in a demo app,
// and a real browser opens the published app.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAdPlatform } from '../../../sandbox/src/ad-platform/server.ts';
import { playBuilder } from '../../../sandbox/src/builder-conversation.ts';
import { startChatWorld } from '../support/chat.ts';

const platform = await startAdPlatform();
/** Contains a Chromium wrapper that fails to start while the file `broken` exists. */
const folder = mkdtempSync(join(tmpdir(), 'browser-'));
chmodSync(folder, 0o755); // the browser runs as a different user
const browser = join(folder, 'browser');
const chromium = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
writeFileSync(browser, `#!/bin/sh\n[ -e '${folder}/broken' ] && exit 1\nexec '${chromium}' "$@"\n`, { mode: 0o755 });
afterAll(() => rmSync(folder, { recursive: true }));
afterAll(() => platform.close());
const { world, owner, workspace, token, model, send } = await startChatWorld({
  environment: {
    ADS_PLATFORM_URL: platform.url,
    ADS_PLATFORM_MANAGER_ID: platform.managerId,
    ADS_PLATFORM_CREDENTIALS: platform.credentials,
    BROWSER_EXECUTABLE: browser,
  },
});
beforeAll(() => platform.configure({ tag_delay_ms: 0 }));

it('is installed by chat, found clean by the scan, and verified in a browser, unless a policy blocks the tag', async () => {
  // The builder does not check the page in every turn, because the published page is checked below.
  model.script(({ tools, ...request }) =>
    playBuilder({ ...request, tools: (tools ?? []).filter((tool) => tool.function.name !== 'check_page') }),
  );
  const app = await world.appOf(owner, workspace);
  const post = (path: string, body?: object) =>
    world.call('POST', `/api/apps/${app.id}/${path}`, { as: token, ...(body && { body }) });
  const verify = async () => (await post('ads-platform/tracking-verify')).body;
  const isVerified = async () => {
    const path = `/api/apps/${app.id}/ads-platform/launch-readiness`;
    return (await world.call('GET', path, { as: token })).body.tracking_verified;
  };
  expect(await send(app, 'A task list with owners')).toMatchObject({ body: { status: { state: 'ready' } } });
  await post('ads-platform/accounts/ensure-for-tracking', {});
  await post('ads-platform/conversion-mappings', {
    entity_name: 'Task',
    conversion_type: 'SIGNUP',
    value_field: 'title',
  });

  const built = await post('ads-platform/tracking-scan/build-bootstrap-prompt', { wire_events: true });
  expect(built.body).toMatchObject({ wired_mappings: 1 });
  const { conversion_id, composer_prompt } = built.body;
  expect(await send(app, composer_prompt)).toMatchObject({ body: { status: { state: 'ready' } } });
  expect((await post('ads-platform/tracking-scan')).body).toMatchObject({ is_clean: true, calls_count: 1, gaps: [] });
  expect(await verify()).toMatchObject({ verified: false, checks: [{ ok: false }, { ok: true }, { ok: true }] });

  expect((await post('deploy')).status).toBe(200);
  expect(await verify()).toEqual({
    verified: true,
    checks: [
      {
        name: 'base_tag_on_page',
        ok: true,
        detail: expect.stringContaining(`The page loads the tag ${conversion_id}.`),
      },
      { name: 'no_error_gaps', ok: true, detail: expect.any(String) },
      { name: 'goal_published', ok: true, detail: expect.any(String) },
    ],
    enabled_campaign_ids: [],
  });
  expect(await isVerified()).toBe(true);

  writeFileSync(join(folder, 'broken'), '');
  expect(await post('ads-platform/tracking-verify')).toMatchObject({
    headers: { 'x-partial-result': 'checks' },
    body: { verified: false, checks: [{ ok: false, detail: expect.stringContaining('did not start') }, {}, {}] },
  });
  expect(await isVerified()).toBe(true); // unchanged, because this check was inconclusive
  rmSync(join(folder, 'broken'));

  const headers = { csp: "default-src 'self' 'unsafe-inline'; upgrade-insecure-requests" };
  await world.call('PATCH', `/api/apps/${app.id}/security/settings`, { as: token, body: { headers } });
  expect(await isVerified()).toBe(false);
  expect(await verify()).toMatchObject({ verified: false, checks: [{ ok: false }, { ok: true }, { ok: true }] });
  expect(await isVerified()).toBe(false);
});
