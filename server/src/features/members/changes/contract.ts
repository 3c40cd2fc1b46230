// Owns the schemas of member changes, single and in bulk (docs/api/members.md#change-members).
import { z } from 'zod';
import {
  answer,
  body,
  decimal,
  distinct,
  email,
  list,
  oneOf,
  optional,
  query,
  queryFlag,
} from '../../../kit/http/shapes.ts';

const role = oneOf('admin', 'editor', 'viewer');
// Null is a value: it removes the limit.
const limit = decimal(4).min(0).nullable();
const maxItems = 200;

export const RoleChange = body({ role });
export const AccessChange = body({ state: oneOf('active', 'blocked') });
export const LimitChange = body({ credit_limit: limit });
export const DefaultLimitChange = body({ default_credit_limit: limit });
export const DefaultLimit = answer('DefaultCreditLimit', { default_member_credit_limit: z.number().nullable() });

const distinctByEmail = <S extends z.ZodType<{ email: string }>>(item: S) =>
  distinct(list(item, 1, maxItems), (one) => one.email);

export const RoleChanges = body({ items: distinctByEmail(body({ email, role })) });
export const LimitChanges = body({ items: distinctByEmail(body({ email, credit_limit: limit })) });
export const RemovalQuery = query({ pause_webhooks: queryFlag.optional() });
export const Removals = body({
  emails: distinct(list(email, 1, maxItems), (one) => one),
  pause_webhooks: optional(z.boolean()),
});

export const BulkResult = answer('MembersChanged', {
  results: z.array(answer('MemberChanged', { email: z.string(), status: oneOf('success', 'skipped') })),
});

export const Transfer = body({ email });
export const Transferred = answer('OwnershipTransferred', { owner_email: z.string() });
