// The texts of parameters with the same meaning in most operations: path parameters, headers, and `workspaceId`.
// Other query parameters are described in the query's contract, and exceptions in the route's `parameterTexts`.
import type { FieldText } from '../kit/http/shapes.ts';

export const parameters: Readonly<Record<string, FieldText>> = {
  agent_id: { text: 'The id of the agent, which is also its app id.', example: '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5' },
  app_id: { text: 'The id of the app or agent.', example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e' },
  automation_id: { text: 'The id of the automation.', example: '0198c20d-6a1b-7c58-9e42-3f7ab05d91c6' },
  campaign_id: { text: 'The id of the campaign.', example: '0198c211-03a4-7b1e-8c55-91d0a7f4e2b6' },
  conversation_id: {
    text: "The id of the conversation, which must be the caller's own.",
    example: '0198c1fb-6e90-7c25-9f48-1a7be5d3094c',
  },
  delivery_id: {
    text: 'The id of the delivery; deliveries are kept for 30 days.',
    example: '0198c204-0d7f-76b8-9c14-3be58a2f70d1',
  },
  email: {
    text: 'The e-mail address of the member, percent-encoded and compared in lower case.',
    example: 'grace@example.com',
  },
  entity_id: { text: 'The id of the record.', example: '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3' },
  entity_name: { text: 'The name of the entity, which is case-sensitive.', example: 'Order' },
  execution_id: { text: 'The id of the test run.', example: '0198c216-0b31-7f5a-9c20-17e8d3b5a6f4' },
  export_id: {
    text: 'The id of the export; if it has expired, the response is 404.',
    example: '0198c20c-e1b3-7460-b92a-4df8c5076e19',
  },
  file: {
    text: 'The name of the file, such as `webhooks.json` for a feature, or `scalar.js` for the reference page.',
    example: 'scalar.js',
  },
  fingerprint: {
    text: 'The `fingerprint` of a finding.',
    example: '5f0c1d6f2b7e4b7a',
  },
  flag: { text: 'The `flag` of a recommendation.', example: 'csp' },
  flow_id: { text: 'The id of the test.', example: '0198c215-4a07-7c3e-8b12-90d4e6f1a2c7' },
  folder_id: { text: 'The id of the folder.', example: '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b' },
  held_id: { text: 'The `id` of a rule in `held_rules` of getChat.', example: '0199c208-5a92-7d1c-8f6e-b40e29a7c5d3' },
  hook_token: { text: 'The token in the `hook_url` of the workflow.', example: 'EXAMPLE' },
  'Idempotency-Key': {
    text: 'A value that you choose once per intended effect; a repeat with the same value within 24 hours returns the stored response.',
    example: 'order-4711',
  },
  input_id: { text: 'The id of the message.', example: '0198c219-5d47-7b3e-af60-728394a5b6c7' },
  integration_type: { text: 'The type of the connector, which is not case-sensitive.', example: 'zendesk' },
  invitation_token: { text: 'The token in the link of the invitation.', example: 'EXAMPLE-invitation-token' },
  key_id: { text: 'The id of the workspace key.', example: '0198c1f5-2f6a-7198-a7c3-90d5e48b1f6e' },
  'Last-Event-ID': {
    text: 'The `id` of the last event that was received; the stream continues after it.',
    example: '0198c1f2-9a44-7b02-8c11-5d3e7f6a9b20:1:12',
  },
  launch_id: { text: 'The id of the launch.', example: '0198c211-0391-7d02-b1c9-5e0f2a7788aa' },
  launch_key: { text: 'The `Idempotency-Key` of the launch.', example: 'order-4711' },
  mapping_id: { text: 'The id of the conversion mapping.', example: '0198c20d-7e02-7b19-a4c3-60d8f1b5e927' },
  memory_id: {
    text: 'The id of the memory, which must be about the caller.',
    example: '0198c1fb-9c47-7041-b7e2-5f83a6d0c91d',
  },
  message_id: { text: 'The id of the message.', example: '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6' },
  queue: { text: 'The name of a queue that `listQueues` returns.', example: 'webhook_deliveries' },
  rest: { text: 'The rest of the address, which may contain slashes.', example: 'assets/main.js' },
  revision: { text: 'The number of a revision whose contents are kept.', example: '8' },
  row_id: { text: 'The id of the row.', example: '01980a11-7c00-7b11-8f00-000000000001' },
  run_id: { text: 'The id of the run.', example: '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0' },
  secret_name: {
    text: 'The name of the secret: a capital letter, then up to 63 capital letters, digits and underscores.',
    example: 'PAYMENT_API_KEY',
  },
  session_asset_id: { text: 'The id of the text or image.', example: '0198c20e-2c4d-7e5f-9061-7b8c9d0e1f20' },
  session_id: { text: 'The id of the session.', example: '0198c1f2-8e5f-7d06-b493-c17a5e2f80d4' },
  state: { text: 'The value of `state` in `redirect_url`.', example: 'EXAMPLE' },
  token_id: { text: 'The id of the token.', example: '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40' },
  preview_id: { text: 'The id of the preview.', example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e' },
  user_id: { text: 'The id of the user of the app.', example: '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8' },
  webhook_id: { text: 'The id of the webhook.', example: '0198c203-41ce-7395-8a6b-e7f20d9c5b38' },
  workflow_id: { text: 'The id of the workflow.', example: '0198c20a-3b71-7e24-9d05-6c1f8a40b7e9' },
  workspace_id: { text: 'The id of the workspace.', example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11' },
  workspaceId: {
    text: 'The id of the workspace, for credentials that are valid in several workspaces.',
    example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
  },
};
