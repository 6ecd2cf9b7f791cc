// Money for people, in whatever unit the site counts in.

/** Thousandths are enough to tell amounts apart, and whole numbers stay short. */
export function moneyText(amount: number): string {
  return String(Math.round(amount * 1000) / 1000);
}
