// The entry point of members: the people in a workspace, their roles and limits, and invitations.

import type { AppAccess, WorkspaceAccess } from '../../core/auth/proofs.ts';
import { removeAcceptedInvitations } from '../../core/identity/invitations.ts';
import type { Member } from '../../core/identity/members.ts';
import type { Job } from '../../kit/background/workers/schedule.ts';
import type { Db } from '../../tables.ts';
import { type ChangeDeps, endMembershipAndPublish } from './changes/change.ts';
import { changeRoutes } from './changes/routes.ts';
import { clearOldMonths, compactTallies, refreshDirectories } from './directory-refresh.ts';
import type { AcceptDeps } from './invitations/accept.ts';
import { countGuestInvitation, inviteGuest, removeInvitedGuest } from './invitations/invitation.ts';
import { invitationRoutes } from './invitations/routes.ts';
import type { MembersDeps } from './list.ts';
import { memberRoutes } from './routes.ts';
import { activityDueInMs } from './store.ts';

export { memberArchiveTables } from './archive-rows.ts';

export const members = (deps: MembersDeps & ChangeDeps & AcceptDeps) => ({
  routes: [...memberRoutes(deps), ...changeRoutes(deps), ...invitationRoutes(deps)],
  jobs: [
    { name: 'refresh member directories', everyMs: 15_000, dueInMs: activityDueInMs, run: refreshDirectories },
    { name: 'compact member tallies', everyMs: 30_000, run: compactTallies },
    { name: 'clear member credits of old months', everyMs: 60 * 60 * 1000, run: clearOldMonths },
    { name: 'remove accepted invitations', everyMs: 60 * 60 * 1000, run: removeAcceptedInvitations },
  ] satisfies Job[],
  /** Functions that the apps feature needs to share an app with people outside the workspace. */
  guests: {
    count: (db: Db, access: AppAccess, email: string, now: Date) => countGuestInvitation(db, deps, access, email, now),
    invite: (db: Db, access: AppAccess, email: string, role: 'editor' | 'viewer', now: Date) =>
      inviteGuest(db, deps, access, { email, role }, now),
    withdrawInvitation: removeInvitedGuest,
    endMembership: (db: Db, access: WorkspaceAccess, member: Member, now: Date) =>
      endMembershipAndPublish(db, access, member, deps.publish, now),
  },
});
