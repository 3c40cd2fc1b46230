// Decides which e-mail addresses count as one mailbox, for limits on e-mails to one person.

/** Removes the tag, because ann+shop@example.com is usually the same mailbox as ann@example.com. */
export const nameMailbox = (email: string): string => email.replace(/\+[^@]*/, '');
