"""The change of a shop's cart that models hand in: it gives the whole cart a discount."""

DIFF = """\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,2 +1,2 @@
-def total(prices):
-    return sum(prices)
+def total(prices, discount=0):
+    return sum(prices) * (1 - discount)
"""
