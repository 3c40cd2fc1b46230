// Prices of operations in credits. A route declares the prices that its feature charges, so what is listed and what is
// charged come from one place. Pure.

export interface Price {
  readonly credits: number;
  /** What the credits are for. */
  readonly per: 'call' | 'image' | '10000_tokens';
  /** The least that a call costs. Null if that is `credits`. */
  readonly at_least: number | null;
}

export const perCall = (credits: number): Price => ({ credits, per: 'call', at_least: null });
export const perImage = (credits: number): Price => ({ credits, per: 'image', at_least: null });
export const per10000Tokens = (credits: number, at_least: number): Price => ({
  credits,
  per: '10000_tokens',
  at_least,
});
