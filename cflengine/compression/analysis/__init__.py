"""What a solution says about documents: key phrases of groups, one group in another's dictionary, phrases over time,
passages that are repeated, what each phrase is worth, how good a vocabulary of one's own is."""
