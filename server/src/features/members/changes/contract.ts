// The schemas for individual and bulk member changes (docs/api/members.md#change-members).
import { z } from 'zod';
import {
  answer,
  body,
  decimal,
  described,
  distinct,
  email,
  list,
  oneOf,
  optional,
  parameter,
  query,
  queryFlag,
} from '../../../kit/http/shapes.ts';

const role = described(
  oneOf('admin', 'editor', 'viewer'),
  'The new role; a guest becomes a full member, and a new viewer loses their own credit limit.',
);
// Null is valid and removes the limit.
const limit = decimal(4).min(0).nullable();
const maxItems = 200;

export const RoleChange = body({ role });
export const AccessChange = body({
  state: described(
    oneOf('active', 'blocked'),
    '`blocked` refuses every request of the member to the workspace; `active` restores access at once.',
  ),
});
export const LimitChange = body({
  credit_limit: described(limit, "The member's own monthly limit, with up to 4 decimals; null removes it.", 100),
});
export const DefaultLimitChange = body({
  default_credit_limit: described(
    limit,
    'The monthly credits of members without a limit of their own, with up to 4 decimals; null removes the default.',
    50,
  ),
});
export const DefaultLimit = answer('DefaultCreditLimit', {
  default_member_credit_limit: described(
    z.number().nullable(),
    'The monthly credits of members without a limit of their own; null if there is no default.',
    50,
  ),
});

const distinctByEmail = <S extends z.ZodType<{ email: string }>>(item: S) =>
  distinct(list(item, 1, maxItems), (one) => one.email);

const emailText = ['The e-mail address of the person, compared in lower case.', 'grace@example.com'] as const;

export const RoleChanges = body({
  items: described(
    distinctByEmail(body({ email: described(email, ...emailText), role })),
    'The members or invitations and their new roles; an e-mail address must not be repeated.',
    [{ email: 'grace@example.com', role: 'editor' }],
  ),
});
export const LimitChanges = body({
  items: described(
    distinctByEmail(
      body({
        email: described(email, ...emailText),
        credit_limit: described(limit, "The member's own monthly limit, with up to 4 decimals; null removes it.", 100),
      }),
    ),
    'The members and their new limits; an e-mail address must not be repeated.',
    [{ email: 'grace@example.com', credit_limit: 100 }],
  ),
});
export const RemovalQuery = query({
  pause_webhooks: parameter(
    queryFlag.optional(),
    'Whether to turn off the webhooks that the member created; false by default.',
  ),
});
export const Removals = body({
  emails: described(
    distinct(list(email, 1, maxItems), (one) => one),
    'The e-mail addresses of the members or invitations to remove; none may be repeated.',
    ['grace@example.com'],
  ),
  pause_webhooks: described(
    optional(z.boolean()),
    'Whether to turn off the webhooks that the removed members created; false by default.',
  ),
});

export const BulkResult = answer('MembersChanged', {
  results: described(
    z.array(
      answer('MemberChanged', {
        email: described(z.string(), ...emailText),
        status: described(
          oneOf('success', 'skipped'),
          'Whether the member was changed; `skipped` if there was nothing to change or another request changed the member at the same time.',
        ),
      }),
    ),
    'One result per item, in the order of the request.',
  ),
});

export const Transfer = body({
  email: described(
    email,
    'The e-mail address of the new owner, who must be a member and neither blocked nor deactivated.',
    'grace@example.com',
  ),
});
export const Transferred = answer('OwnershipTransferred', {
  owner_email: described(z.string(), 'The e-mail address of the new owner of the workspace.', 'grace@example.com'),
});
