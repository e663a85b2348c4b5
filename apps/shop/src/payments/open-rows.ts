/** Payments and refunds of which the gateway's word is still to come, as a list. */

export interface OpenRow {
  readonly id: string;
  readonly reference: string;
}

/** In the order of their ids. */
export type ListOpen = (page: {
  readonly afterId: string;
  readonly openedBefore: string;
  readonly limit: number;
}) => Promise<readonly OpenRow[]>;
