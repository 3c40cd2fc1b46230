// Acts as a person or a language model with nothing but the OpenAPI document: finds the operation for a task described
// in words, takes its body's example, and calls it.
import { describe, expect, it } from 'vitest';
import { startWorld } from '../support/world.ts';
import { createFinder, type FoundOperation } from './find-operation.ts';

const world = await startWorld();
const find = createFinder((await world.call('GET', '/openapi.json')).body);

interface Task {
  readonly task: string;
  readonly operation: string;
  /** Why other operations may rank higher. This operation must still be among the first three. */
  readonly amongThree?: string;
}

const tasks: readonly Task[] = [
  { task: 'Create an app for the bakery', operation: 'createApp' },
  { task: 'Bring a deleted app back from the trash', operation: 'restoreApp' },
  { task: 'Share an app with somebody outside the workspace', operation: 'putAppShare' },
  { task: 'Store the API key of a payment service as a secret of an app', operation: 'putAppSecret' },
  { task: 'Upload the source files of an app', operation: 'syncAppFiles' },
  { task: 'Restore an earlier revision of an app', operation: 'restoreRevision' },
  { task: 'Let a user of an app sign in, with a token for its data', operation: 'createAppUserToken' },
  { task: 'Create an entity Task whose owner alone may change it', operation: 'putEntitySchema' },
  { task: 'Add an order to the records of an entity', operation: 'createRecord' },
  { task: 'Import many records at once', operation: 'createRecords' },
  { task: 'How many records are there', operation: 'countRecords' },
  {
    task: 'Delete all records that are done',
    operation: 'deleteRecords',
    amongThree: 'Deleting app users and schemas has to do with records, and the task names no entity.',
  },
  { task: 'Tell my server when a record of an app changes', operation: 'createAppWebhook' },
  {
    task: "Check that my webhook's endpoint works by sending it a sample event",
    operation: 'testAppWebhook',
    amongThree: 'The task does not say whether the webhook is of an app or of an agent.',
  },
  { task: "Find the deliveries of an app's webhook that failed yesterday", operation: 'listAppDeliveries' },
  { task: "Send the failed deliveries of an app's webhook again", operation: 'replayAppWebhook' },
  { task: 'Ask an agent a question and get its answer', operation: 'sendAgentMessage' },
  { task: 'Which question does a coding session wait for', operation: 'getInputRequest' },
  { task: 'Invite three people as viewers', operation: 'inviteMembers' },
  { task: 'Send an invitation again because the mail was lost', operation: 'resendInvitation' },
  { task: 'Block a member who is on leave', operation: 'setMemberAccess' },
  { task: 'Remove several members from the workspace', operation: 'removeMembers' },
  { task: 'Make another member the owner of the workspace', operation: 'transferOwnership' },
  { task: 'How many credits are left this month', operation: 'getCredits' },
  { task: 'Limit how many credits a member can spend each month', operation: 'setMemberCreditLimit' },
  {
    task: 'Who changed something in the workspace last week',
    operation: 'listAuditLog',
    amongThree: 'Operations that change the workspace have the same words.',
  },
  { task: 'Prove that nobody tampered with the audit log', operation: 'verifyAuditLog' },
  { task: 'Download everything in the workspace', operation: 'startExport' },
  {
    task: 'Make a new folder for apps',
    operation: 'createFolder',
    amongThree: 'The summary of transferOwnership begins with "Make", too.',
  },
  {
    task: 'Put an app into a folder',
    operation: 'addFolderItems',
    amongThree: 'Every operation on folders is about apps in folders; only the verb differs.',
  },
  { task: 'Revoke one of my access tokens', operation: 'revokeToken' },
  { task: 'Sign out everywhere else', operation: 'endOtherBrowserSessions' },
  { task: 'I forgot my password', operation: 'forgotPassword' },
  { task: 'Make a key for a program that acts for the workspace', operation: 'createWorkspaceKey' },
  { task: 'Which version of Plinth is running', operation: 'serverInfo' },
  { task: 'Launch a campaign that advertises my app', operation: 'launchCampaign' },
  { task: 'Pause all campaigns of an app at once', operation: 'pauseAllCampaigns' },
  { task: 'What did people search for when they saw my ads', operation: 'getSearchTerms' },
  { task: 'Delete a campaign forever', operation: 'deleteCampaign' },
  { task: 'What does each plan include', operation: 'listPlans' },
];

describe('the operation for a task', () => {
  it.each(tasks)('is found by its words: $task', ({ task, operation, amongThree }) => {
    const found = find(task)
      .slice(0, amongThree === undefined ? 1 : 3)
      .map(({ operationId }) => operationId);
    expect(found).toContain(operation);
  });
});

/** Replaces the values of these fields, such as an id in the example, with existing values. */
const withNames = (example: unknown, names: Readonly<Record<string, unknown>>): unknown =>
  JSON.parse(JSON.stringify(example ?? null, (key, value) => names[key] ?? value));

/** Finds the operation and calls it with the document's examples and these names. Returns the response body. */
async function carryOut(task: string, as: string, names: Readonly<Record<string, unknown>> = {}) {
  const operation = find(task)[0] as FoundOperation;
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(names[name] ?? operation.parameterExamples[name])),
  );
  const body = operation.example === undefined ? {} : { body: withNames(operation.example, names) };
  const answer = await world.call(operation.method, path, { as, ...body });
  expect(answer, `${task}: ${operation.operationId}: ${answer.text}`).toMatchObject({ status: 200 });
  expect(answer.headers['x-ignored-fields'], operation.operationId).toBeUndefined();
  return answer.body;
}

describe('tasks', () => {
  it('are carried out with what the document says', async () => {
    const ada = await world.person('ada@example.com');
    const token = await world.token(ada, await world.workspace(ada));
    const { id: app_id } = await carryOut('Create an app for the bakery', token);
    await carryOut('Store the API key of a payment service as a secret of an app', token, { app_id });
    const entity = await carryOut('Create an entity Task whose owner alone may change it', token, { app_id });
    expect(entity.closed_operations).toEqual([]);
    const record = await carryOut('Add an order to the records of an entity', token, { app_id });
    expect(record.created_by_id).toBe(ada.id);
    await carryOut('Import many records at once', token, { app_id });
    expect(await carryOut('How many records are there', token, { app_id })).toEqual({ count: 3 });
    const hook = await carryOut('Tell my server when a record of an app changes', token, { app_id });
    const names = { app_id, webhook_id: hook.id };
    await carryOut("Find the deliveries of an app's webhook that failed yesterday", token, names);
    await carryOut("Send the failed deliveries of an app's webhook again", token, names);
    const { invited } = await carryOut('Invite three people as viewers', token);
    expect(invited).toHaveLength(1); // the example contains one invitation
    expect((await carryOut('How many credits are left this month', token)).used).toBe(0);
    await carryOut('Make a key for a program that acts for the workspace', token, { app_ids: [app_id] });
    const { id: token_id } = await carryOut('Create a personal access token', token, { app_ids: [app_id] });
    await carryOut('Revoke one of my access tokens', token, { token_id });
  });
});
