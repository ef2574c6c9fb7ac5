"""Liu & Talwar 2019, Section 5: selection by scores, and analyses whose size is tuned."""
