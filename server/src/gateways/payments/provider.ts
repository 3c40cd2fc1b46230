// The payment provider interface.

/**
 * The outcome of a change at the provider. A change that is repeated with the same key within a day is applied once.
 */
export type PaymentChange<Result> =
  | { readonly outcome: 'applied'; readonly result: Result }
  | { readonly outcome: 'refused'; readonly code: string }
  /** The request was sent, but its outcome is unknown. It may have been applied. */
  | {
      readonly outcome: 'unknown';
      /** Whether the provider returned an error, which it repeats for this key. */
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
  /** The URL of a page on the provider's site. */
  readonly url: string;
  readonly expiresAt: Date;
}

export interface Payments {
  /** `external` means that there is no provider and the other functions are unavailable. */
  readonly mode: 'external' | 'provider';
  createCustomer(workspaceId: string, key: string): Promise<PaymentChange<{ readonly customerId: string }>>;
  /** Customers that were created for this workspace in this period, oldest first. */
  findCustomers(workspaceId: string, from: Date, to: Date): Promise<PaymentReading<readonly string[]>>;
  startCardSetup(customerId: string, returnUrl: string): Promise<PaymentChange<CardSetup>>;
  /** Null if the customer has no card or no longer exists. */
  readCard(customerId: string): Promise<PaymentReading<Card | null>>;
}

export interface PaymentSettings {
  readonly url: string;
  /** Undefined means mode `external`. */
  readonly secretKey: string | undefined;
  readonly timeoutMs?: number;
  /** Called after a failed call. */
  readonly onFailure?: (failure: { readonly reason: string; readonly request_id: string | null }) => void;
}
