// Owns what webhooks receive, as the document describes it (docs/api/webhooks.md#events).
import type { JsonSchema } from '../kit/http/json-schema.ts';

const id = { type: 'string', format: 'uuid' };
const time = { type: 'string', format: 'date-time' };
const text = { type: 'string' };
const described = (schema: JsonSchema, description: string): JsonSchema => ({ ...schema, description });
const object = (properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

const person = object({
  id: described(id, 'The person or app user.'),
  email: described(text, 'Their e-mail address.'),
});
const common = (types: readonly string[]) => ({
  id: described(id, 'The event, the same in every delivery of it.'),
  type: { type: 'string', enum: types, description: 'What happened.' },
  created_at: described(time, 'When it happened.'),
});
const record: JsonSchema = { type: ['object', 'null'] };

export const eventSchemas: Readonly<Record<string, JsonSchema>> = {
  MessageEvent: object({
    ...common(['message.created', 'message.completed']),
    agent_id: described(id, 'The agent.'),
    conversation_id: described(id, 'The conversation.'),
    data: described(
      object({
        message: described(
          object(
            {
              id: described(id, 'The message.'),
              role: { type: 'string', enum: ['user', 'assistant'], description: 'Who wrote it.' },
              content: described(text, 'The text; at most 256 KiB with everything else.'),
              content_truncated: described({ type: 'boolean', const: true }, 'The content was cut.'),
              file_urls: described({ type: 'array', items: text }, 'Files that came with the message.'),
              created_date: described(time, 'When the message was added.'),
              updated_date: described(time, 'When the message last changed.'),
            },
            ['content_truncated'],
          ),
          'The message.',
        ),
        user: described(person, 'Whose conversation it is.'),
      }),
      'The message and its person.',
    ),
  }),
  RecordEvent: object({
    ...common(['entity.created', 'entity.updated', 'entity.deleted']),
    app_id: described(id, 'The app.'),
    entity_name: described(text, 'The entity.'),
    entity_id: described(id, 'The record.'),
    data: described(record, 'The record after the change; null if it was deleted, or is too large.'),
    old_data: described(record, 'The record before the change; null if it was created, or is too large.'),
    changed_fields: described({ type: 'array', items: text }, 'The fields that changed.'),
    actor: { anyOf: [person, { type: 'null' }], description: 'Who made the change; null for anonymous callers.' },
    depth: described({ type: 'integer' }, "How many automations are between a person's change and this one."),
    payload_too_large: described({ type: 'boolean' }, 'Both records were left out: together they exceed 200 KiB.'),
  }),
};

const header = (name: string, description: string, required = true): JsonSchema => ({
  name,
  in: 'header',
  required,
  description,
  schema: text,
});

const deliveryHeaders = [
  header('X-Service-Event', 'The event type.'),
  header('X-Service-Delivery', 'The delivery, the same at every attempt.'),
  header('X-Service-Sequence', 'The number of the delivery among those of this webhook, without gaps.'),
  header('X-Service-Attempt', 'The number of this attempt: 1, 2, 3 …'),
  header('webhook-id', 'The delivery, as Standard Webhooks names it.'),
  header('webhook-timestamp', 'Unix seconds of this attempt.'),
  header('webhook-signature', '`v1,` and the base64 HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`.', false),
  header('X-Service-Signature', 'The hexadecimal HMAC-SHA256 of the body, with the whole secret as key.', false),
];

const describeEvent = (type: string, schema: string, summary: string): JsonSchema => ({
  post: {
    operationId: `receive_${type.replace('.', '_')}`,
    summary,
    description: `${summary}. Sent at least once, in any order; answer any 2xx within 10 seconds.`,
    tags: ['webhooks'],
    security: [], // a delivery proves itself by its signature
    parameters: deliveryHeaders,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
    },
    responses: {
      '2XX': { description: 'Received. It is not sent again.' },
      default: { description: 'Not received. It is sent again, up to eight times in 28 hours.' },
    },
  },
});

export const webhookSection: Readonly<Record<string, JsonSchema>> = {
  'message.created': describeEvent('message.created', 'MessageEvent', 'A message was added to a conversation'),
  'message.completed': describeEvent('message.completed', 'MessageEvent', 'An agent completed its reply'),
  'entity.created': describeEvent('entity.created', 'RecordEvent', 'A record was created or restored'),
  'entity.updated': describeEvent('entity.updated', 'RecordEvent', 'A record was updated'),
  'entity.deleted': describeEvent('entity.deleted', 'RecordEvent', 'A record was deleted'),
};
