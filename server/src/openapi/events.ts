// The document's description of the events that webhooks receive (docs/api/webhooks.md#events).
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
  id: described(id, 'The id of the person or app user.'),
  email: described(text, 'The e-mail address of the person or app user.'),
});
const common = (types: readonly string[]) => ({
  id: described(id, 'The id of the event, which is the same in all of its deliveries.'),
  type: { type: 'string', enum: types, description: 'The type of the event.' },
  created_at: described(time, 'When the event happened.'),
});
const record: JsonSchema = { type: ['object', 'null'] };

export const eventSchemas: Readonly<Record<string, JsonSchema>> = {
  MessageEvent: object({
    ...common(['message.created', 'message.completed']),
    agent_id: described(id, 'The id of the agent.'),
    conversation_id: described(id, 'The id of the conversation.'),
    data: described(
      object({
        message: described(
          object(
            {
              id: described(id, 'The id of the message.'),
              role: { type: 'string', enum: ['user', 'assistant'], description: 'The author of the message.' },
              content: described(text, 'The text of the message, cut so that the whole event has at most 256 KiB.'),
              content_truncated: described(
                { type: 'boolean', const: true },
                'True if the content was cut; otherwise left out.',
              ),
              file_urls: described(
                { type: 'array', items: text },
                'The URLs of files that were sent with the message.',
              ),
              created_date: described(time, 'When the message was added.'),
              updated_date: described(time, 'When the message last changed.'),
            },
            ['content_truncated'],
          ),
          'The message that was added or completed.',
        ),
        user: described(person, 'The person who owns the conversation.'),
      }),
      'The message, and the person who owns the conversation.',
    ),
  }),
  RecordEvent: object({
    ...common(['entity.created', 'entity.updated', 'entity.deleted']),
    app_id: described(id, 'The id of the app.'),
    entity_name: described(text, 'The name of the entity.'),
    entity_id: described(id, 'The id of the record.'),
    data: described(record, 'The record after the change; null if it was deleted or is too large.'),
    old_data: described(record, 'The record before the change; null if it was created or is too large.'),
    changed_fields: described({ type: 'array', items: text }, 'The fields that changed.'),
    actor: { anyOf: [person, { type: 'null' }], description: 'Who made the change; null for anonymous callers.' },
    depth: described({ type: 'integer' }, "The number of automations between a person's change and this one."),
    payload_too_large: described(
      { type: 'boolean' },
      'Whether both records were left out because together they exceed 200 KiB.',
    ),
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
  header('X-Service-Event', 'The type of the event.'),
  header('X-Service-Delivery', 'The id of the delivery, the same at every attempt.'),
  header('X-Service-Sequence', 'The number of the delivery within its webhook, without gaps.'),
  header('X-Service-Attempt', 'The number of this attempt: 1, 2, 3 …'),
  header('webhook-id', 'The id of the delivery, as Standard Webhooks defines it.'),
  header('webhook-timestamp', 'The time of this attempt, in Unix seconds.'),
  header('webhook-signature', '`v1,` and the base64 HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`.', false),
  header('X-Service-Signature', 'The hexadecimal HMAC-SHA256 of the body, with the whole secret as key.', false),
];

const describeEvent = (type: string, schema: string, summary: string): JsonSchema => ({
  post: {
    operationId: `receive_${type.replace('.', '_')}`,
    summary,
    description: `${summary}. The event is sent at least once, in any order; respond with any 2xx within 10 seconds.`,
    tags: ['webhooks'],
    security: [], // deliveries are authenticated by their signature
    parameters: deliveryHeaders,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
    },
    responses: {
      '2XX': { description: 'Received; the delivery is not sent again.' },
      default: { description: 'Not received; the delivery is sent again, up to eight times in 28 hours.' },
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
