// A manager's client accounts. The platform allows several accounts with the same name.
import { refuse } from './errors.ts';
import type { Resource, State } from './state.ts';

export const managerId = '1000000001';

export const manager: Resource = {
  resourceName: `customers/${managerId}`,
  id: managerId,
  descriptiveName: 'Sandbox manager',
  status: 'ENABLED',
  currencyCode: 'USD',
  timeZone: 'UTC',
  manager: true,
};

interface NewClient {
  readonly descriptiveName?: unknown;
  readonly currencyCode?: unknown;
  readonly timeZone?: unknown;
}

/** Returns the new account's resource name and the changes that create it. */
export function createClient(state: State, customerId: string, client: NewClient, now: Date) {
  const at = 'customer_client';
  if (customerId !== managerId)
    throw refuse('operationAccessDeniedError.CREATE_OPERATION_NOT_PERMITTED', 'Only managers have clients.');
  const { descriptiveName, currencyCode, timeZone } = client;
  if (!descriptiveName)
    throw refuse('fieldError.REQUIRED', 'The required field was not present.', `${at}.descriptive_name`);
  if (!Intl.supportedValuesOf('currency').includes(String(currencyCode)))
    throw refuse('currencyCodeError.UNSUPPORTED', 'The currency code is not supported.', `${at}.currency_code`);
  if (!timeZones.has(String(timeZone)))
    throw refuse('timeZoneError.INVALID_TIME_ZONE', 'Time zone is not valid.', `${at}.time_zone`);
  const draft = state.draft();
  const id = draft.newId();
  const resourceName = `customers/${id}`;
  draft.put({
    resourceName,
    id,
    descriptiveName,
    currencyCode,
    timeZone,
    status: 'ENABLED',
    manager: false,
    _manager: managerId,
    _createdAt: now.toISOString(),
  });
  // The manager pays for its clients.
  draft.put({ resourceName: `${resourceName}/billingSetups/${draft.newId()}`, status: 'APPROVED' });
  return { resourceName, changes: draft.changes };
}

/**
 * Zones that were renamed. The platform knows both names, but `Intl` lists only one of them, and which one depends on
 * the version of Node.
 */
const renamedZones: readonly (readonly [string, string])[] = [
  ['Africa/Asmera', 'Africa/Asmara'],
  ['America/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['America/Catamarca', 'America/Argentina/Catamarca'],
  ['America/Coral_Harbour', 'America/Atikokan'],
  ['America/Cordoba', 'America/Argentina/Cordoba'],
  ['America/Godthab', 'America/Nuuk'],
  ['America/Indianapolis', 'America/Indiana/Indianapolis'],
  ['America/Jujuy', 'America/Argentina/Jujuy'],
  ['America/Louisville', 'America/Kentucky/Louisville'],
  ['America/Mendoza', 'America/Argentina/Mendoza'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Asia/Katmandu', 'Asia/Kathmandu'],
  ['Asia/Rangoon', 'Asia/Yangon'],
  ['Asia/Saigon', 'Asia/Ho_Chi_Minh'],
  ['Atlantic/Faeroe', 'Atlantic/Faroe'],
  ['Europe/Kiev', 'Europe/Kyiv'],
  ['Pacific/Enderbury', 'Pacific/Kanton'],
  ['Pacific/Ponape', 'Pacific/Pohnpei'],
  ['Pacific/Truk', 'Pacific/Chuuk'],
];

/** The platform knows zones by the names of their places, not by those of countries, such as `US/Eastern`. */
const timeZones = new Set([...Intl.supportedValuesOf('timeZone'), ...renamedZones.flat(), 'UTC', 'Etc/UTC']);

/** Changes the status of an account or of its billing, as the platform's staff would. */
export function changeAccount(state: State, customerId: string, change: { status?: string; billing_status?: string }) {
  const draft = state.draft();
  const account = draft.get(`customers/${customerId}`);
  if (account === undefined) throw new Error(`there is no account ${customerId}`);
  if (change.status !== undefined) draft.put({ ...account, status: change.status });
  const [billing] = draft.list(customerId, 'billingSetups');
  if (change.billing_status !== undefined && billing !== undefined)
    draft.put({ ...billing, status: change.billing_status });
  return draft.changes;
}
