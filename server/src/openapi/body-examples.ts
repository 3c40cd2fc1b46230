// The body examples that can't be built from the fields' examples, because the caller defines the fields, because
// some fields exclude each other, or because a complete example is clearer.
import { orderSchema } from '../features/entities/index.ts';

const order = { number: 1042, customer: 'Grace Hopper', total: 18.5, state: 'open' };
const recordId = '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3';

const automationAction = {
  type: 'http_request',
  url: 'https://sales.example.com/large-orders',
  headers: { 'X-Api-Key': '{{secrets.SALES_KEY}}' },
  body: '{order: .entity_id}',
};
const automationSchedule = { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin' };
const definition = {
  document: { dsl: '1.0.0', namespace: 'app', name: 'welcome', version: '1.0.0' },
  do: [{ note: { set: { seen: true } } }],
};

/** Items in these lists have fewer fields than the response for a single item, so its example would be misleading. */
const lastPage = { items: [], next_cursor: null, has_more: false };

/** The examples, keyed by schema name. */
export const bodyExamples: Readonly<Record<string, unknown>> = {
  RetryQueueRowsBody: { failed: true, since: '2026-11-15T09:30:00.000Z' },
  CancelQueueRowsBody: { ids: ['01980a11-7c00-7b11-8f00-000000000001'], reason: 'The address is wrong' },
  QueryEventsBody: { event_name: 'order_placed', q: { 'properties.total': { gte: 20 } } },
  AggregateOverTimeBody: {
    event_name: 'order_placed',
    metrics: [{ name: 'revenue', function: 'sum', field: 'properties.total' }],
  },
  AggregateByFieldBody: { metrics: [{ name: 'countries', field: 'metadata.country' }] },
  CreateWorkflowBody: { name: 'Welcome', definition, trigger: { config: { trigger_type: 'app_publish' } } },
  UpdateWorkflowBody: { name: 'Welcome' },
  ValidateWorkflowBody: { definition },
  RunWorkflowBody: { input: { order: 1042 } },
  ReceiveHookBody: { order: 1042 },
  ListWorkflowsResult: lastPage,
  ListAppRunsResult: lastPage,
  ListWorkflowRunsResult: lastPage,
  ListWorkflowVersionsResult: lastPage,
  EntitySchemaDocument: orderSchema,
  SyncEntitySchemasBody: { schemas: [orderSchema] },
  ExplainRulesBody: { operation: 'update', record_id: recordId, patch: { state: 'done' }, as: { anonymous: true } },
  CreateRecordBody: order,
  UpdateRecordBody: { state: 'done' },
  CreateRecordsBody: [order, { ...order, number: 1043, total: 7.2 }],
  UpdateRecordsBody: [{ id: recordId, state: 'done' }],
  AutomationAction: automationAction,
  AutomationSchedule: automationSchedule,
  CreateAutomationBody: {
    name: 'Large orders',
    type: 'entity',
    entity_name: 'Order',
    event_types: ['create'],
    condition: '.data.total > 100',
    action: automationAction,
  },
  UpdateAutomationBody: { condition: '.data.total > 200', is_active: true },
  DeleteRecordsBody: { query: { state: 'done', total: { $lt: 5 } } },
};
