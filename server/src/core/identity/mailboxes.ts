// Owns which e-mail addresses count as one mailbox, for limits on mails to one person.

/** Without a tag: ann+shop@example.com usually is ann@example.com. */
export const nameMailbox = (email: string): string => email.replace(/\+[^@]*/, '');
