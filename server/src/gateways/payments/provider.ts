// Owns what a payment provider can be asked, and what it answers.

/** A change at the provider. Repeated with the same key within a day, it is applied once. */
export type PaymentChange<Result> =
  | { readonly outcome: 'applied'; readonly result: Result }
  | { readonly outcome: 'refused'; readonly code: string }
  /** Sent, without a readable answer: it may have been applied. */
  | {
      readonly outcome: 'unknown' /** The provider answered an error, which it repeats for this key. */;
      readonly isAnswered: boolean;
    }
  | { readonly outcome: 'unavailable' };

export type PaymentReading<Result> =
  | { readonly outcome: 'read'; readonly result: Result }
  | { readonly outcome: 'unavailable' };

export interface Card {
  readonly brand: string;
  readonly last4: string;
}

export interface CardSetup {
  /** A page of the provider. */
  readonly url: string;
  readonly expiresAt: Date;
}

export interface Payments {
  /** `external`: there is no provider, and the other functions are unavailable. */
  readonly mode: 'external' | 'provider';
  createCustomer(workspaceId: string, key: string): Promise<PaymentChange<{ readonly customerId: string }>>;
  /** Customers that were created for this workspace in this time, oldest first. */
  findCustomers(workspaceId: string, from: Date, to: Date): Promise<PaymentReading<readonly string[]>>;
  startCardSetup(customerId: string, returnUrl: string): Promise<PaymentChange<CardSetup>>;
  /** Null if the customer has no card, or does not exist any more. */
  readCard(customerId: string): Promise<PaymentReading<Card | null>>;
}

export interface PaymentSettings {
  readonly url: string;
  /** Undefined: mode `external`. */
  readonly secretKey: string | undefined;
  readonly timeoutMs?: number;
  /** Called after a call that failed. */
  readonly onFailure?: (failure: { readonly reason: string; readonly request_id: string | null }) => void;
}
