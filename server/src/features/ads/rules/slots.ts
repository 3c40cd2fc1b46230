// An ad's slots: each channel's texts and images, with their lengths and sizes (docs/api/ads.md#slots).

export const channelTypes = ['SEARCH', 'DISPLAY', 'PERFORMANCE_MAX', 'DEMAND_GEN'] as const;
export type ChannelType = (typeof channelTypes)[number];

export const textSlots = ['HEADLINE', 'LONG_HEADLINE', 'DESCRIPTION'] as const;
export type TextSlot = (typeof textSlots)[number];

export const imageSlots = ['LANDSCAPE_IMAGE', 'SQUARE_IMAGE', 'PORTRAIT_IMAGE', 'TALL_PORTRAIT_IMAGE'] as const;
export type ImageSlot = (typeof imageSlots)[number];

/** The ad platform's recommended sizes in pixels for 1.91:1, 1:1, 4:5 and 9:16. */
export const imageSizes: Readonly<Record<ImageSlot, { readonly width: number; readonly height: number }>> = {
  LANDSCAPE_IMAGE: { width: 1200, height: 628 },
  SQUARE_IMAGE: { width: 1200, height: 1200 },
  PORTRAIT_IMAGE: { width: 960, height: 1200 },
  TALL_PORTRAIT_IMAGE: { width: 900, height: 1600 },
};

/**
 * The number of texts to request from the model, the number needed, and the maximum length. If `shortLength` is set, at
 * least one text must be no longer than that.
 */
export const textRules: Readonly<
  Record<TextSlot, { wanted: number; needed: number; maxLength: number; shortLength?: number }>
> = {
  HEADLINE: { wanted: 5, needed: 3, maxLength: 30, shortLength: 15 },
  LONG_HEADLINE: { wanted: 3, needed: 1, maxLength: 90 },
  DESCRIPTION: { wanted: 4, needed: 2, maxLength: 90, shortLength: 60 },
};

interface ChannelSlots {
  readonly texts: readonly TextSlot[];
  readonly images: readonly ImageSlot[];
}

const search: ChannelSlots = { texts: ['HEADLINE', 'DESCRIPTION'], images: ['LANDSCAPE_IMAGE', 'SQUARE_IMAGE'] };
const display: ChannelSlots = { texts: textSlots, images: search.images };
const allSlots: ChannelSlots = { texts: textSlots, images: imageSlots };

export const channelSlots: Readonly<Record<ChannelType, ChannelSlots>> = {
  SEARCH: search,
  DISPLAY: display,
  PERFORMANCE_MAX: allSlots,
  DEMAND_GEN: allSlots,
};

/**
 * The ad platform counts Chinese, Japanese and Korean characters twice. Emoji are counted twice as well, to be safe.
 */
export function measureAdLength(text: string): number {
  let length = 0;
  for (const character of text) length += isWide.test(character) ? 2 : 1;
  return length;
}

const isWide =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6\p{Emoji_Presentation}]/u;
