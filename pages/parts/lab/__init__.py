"""The pages of the Lab."""
