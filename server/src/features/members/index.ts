// The door of members: who belongs to a workspace, as what, and how they come and go.

import type { AppAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { removeAcceptedInvitations } from '../../core/identity/invitations.ts';
import type { Member } from '../../core/identity/members.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Db } from '../../tables.ts';
import { type ChangeDeps, endMembershipAndPublish } from './changes/change.ts';
import { changeRoutes } from './changes/routes.ts';
import { clearOldMonths, compactTallies, refreshDirectories } from './directory-refresh.ts';
import type { AcceptDeps } from './invitations/accept.ts';
import { inviteGuest, removeInvitedGuest } from './invitations/invitation.ts';
import { invitationRoutes } from './invitations/routes.ts';
import type { MembersDeps } from './list.ts';
import { memberRoutes } from './routes.ts';

export const members = (deps: MembersDeps & ChangeDeps & AcceptDeps) => ({
  routes: [...memberRoutes(deps), ...changeRoutes(deps), ...invitationRoutes(deps)],
  jobs: [
    { name: 'refresh members’ copies', everyMs: 15_000, run: refreshDirectories },
    { name: 'sum members’ tallies', everyMs: 30_000, run: compactTallies },
    { name: 'clear members’ past months', everyMs: 60 * 60 * 1000, run: clearOldMonths },
    { name: 'forget accepted invitations', everyMs: 60 * 60 * 1000, run: removeAcceptedInvitations },
  ] satisfies Job[],
  /** What sharing an app means for people outside the workspace. */
  guests: {
    invite: (db: Db, access: AppAccess, email: string, role: 'editor' | 'viewer', now: Date) =>
      inviteGuest(db, access, email, role, deps, now),
    uninvite: removeInvitedGuest,
    leave: (db: Db, access: WorkspaceAccess, member: Member, now: Date) =>
      endMembershipAndPublish(db, access, member, deps.publish, now),
  },
});
