/** Makes no app. */
export const nothing = 1;
