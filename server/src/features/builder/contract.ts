// The builder chat's schemas (docs/api/builder-chat.md).
import { z } from 'zod';
import { App, AppStatus } from '../../core/identity/app-shapes.ts';
import { messageFields, NewMessage, presentMessageOf } from '../../core/turns/messages.ts';
import { answer, body, count, described, id, items, pageQuery, query, timestamp } from '../../kit/http/shapes.ts';
import type { HeldRuleRow } from './store/held-rules.ts';
import type { MessageRow } from './store/messages.ts';
import type { TurnRow } from './store/turns.ts';

export const ChatMessage = answer('ChatMessage', {
  ...messageFields,
  conversation_id: described(
    messageFields.conversation_id,
    'The id of the app, which has only one conversation.',
    '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
  ),
  role: described(
    messageFields.role,
    'Who wrote the message: a person, the assistant, or the platform (`system`), which explains why a turn ended.',
  ),
  content: described(messageFields.content, 'The text of the message.', 'I made the page and the entity Task.'),
  tool_calls: described(
    messageFields.tool_calls,
    'What the assistant did, shortened, including how its changes were checked (`check_files`) and saved (`save_revision`).',
  ),
  model: described(
    messageFields.model,
    'The model that wrote the message; null if a person or the platform wrote it.',
    'house-model',
  ),
  hidden: described(messageFields.hidden, 'Always false.'),
});

export const NewChatMessage = NewMessage.extend({
  content: described(NewMessage.shape.content, 'What the assistant should build or change.', 'Add a due date to tasks'),
  file_urls: described(
    NewMessage.shape.file_urls,
    'Up to 10 public https addresses. The model gets them as text; they are not fetched.',
    ['https://files.example.com/sketch.png'],
  ),
});

export const ChatTurn = answer('ChatTurn', {
  app: described(App, 'The app after the turn.'),
  conversation: described(
    answer('ChatConversation', {
      messages: described(
        z.array(ChatMessage),
        'The messages of the turn, oldest first: your message, then the replies.',
      ),
    }),
    'The part of the conversation that the turn added.',
  ),
  status: described(AppStatus, 'How the turn ended, regardless of what has happened to the app since.'),
});

export const ChatQuery = query(pageQuery);

export const AppRevision = answer('AppRevision', {
  revision: described(count, 'The number of the current revision of the app.', 7),
});

export const TurnStarted = answer('ChatTurnStarted', {
  turn_id: described(id, 'The id of the turn.', '0198c1fb-7d0a-7f3c-9b21-40c6e8a7d512'),
});

export const ChatStopped = answer('ChatStopped', {
  stopped: described(z.boolean(), 'Whether a turn was running. Nothing of a stopped turn is saved.'),
});

const openAnswer = z.record(z.string(), z.unknown());
const operations = ['create', 'read', 'update', 'delete', 'update_check', 'fields', 'sign_up'] as const;
const principals = ['anonymous', 'any_user', 'creator', 'some_user'] as const;

export const HeldRule = answer('HeldRule', {
  id: described(id, 'The id of the proposal.', '0199c208-5a92-7d1c-8f6e-b40e29a7c5d3'),
  entity: described(z.string().nullable(), 'The entity; null for `sign_up`.', 'Task'),
  operation: described(
    z.enum(operations),
    'The operation; `fields` stands for the rules of the fields, `sign_up` for who may sign up.',
    'read',
  ),
  principal: described(z.enum(principals).nullable(), 'Whom the rule lets in; null if undecided.', 'anonymous'),
  before: described(z.unknown(), 'The rule in effect; null if there is none.', false),
  after: described(z.unknown(), 'The proposed rule.', true),
  example: described(openAnswer.nullable(), 'A record that the rule opens.', { record: {} }),
  created_date: described(timestamp, 'When it was proposed.', '2026-11-15T09:30:00.000Z'),
});

export const Chat = items(ChatMessage).extend({
  held_rules: described(z.array(HeldRule), 'Rules that are not in effect because they would open data, newest first.'),
});

export const HeldRulesAnswer = body({ apply: described(z.boolean(), 'False drops the proposal.', true) });

export const HeldRulesAnswered = answer('HeldRulesAnswered', {
  applied: described(z.boolean(), 'Whether the rule is in effect now.'),
  revision: described(count, 'The revision of the app.', 9),
});

export const presentHeldRule = (row: HeldRuleRow): z.input<typeof HeldRule> => ({
  id: row.id,
  entity: row.entity_name,
  operation: row.operation,
  principal: row.principal,
  before: row.rule_before,
  after: row.rule_after,
  example: row.example as Record<string, unknown> | null,
  created_date: row.created_date.toISOString(),
});

/** Each app has one conversation, so the app's id is also the conversation's id. */
export const presentMessage = (row: MessageRow): z.input<typeof ChatMessage> =>
  presentMessageOf(row.app_id, { ...row, hidden: false, updated_date: row.created_date });

/** How the turn ended, regardless of later changes to the app's status. */
export const presentTurnStatus = ({ error_source, error_message }: TurnRow): z.input<typeof AppStatus> =>
  error_source === null
    ? { state: 'ready', message: '', error_source: null }
    : { state: 'error', message: error_message ?? '', error_source };
